"""The book of clients in Postgres: what holds for a client from a local date on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_DOWN, Context, Decimal

import psycopg
from psycopg.rows import DictRow

from kappa.core.audit import Author, Entry
from kappa.core.refusals import Refusal
from kappa.registry.transactions import Connection, Database, audit


class SettledDays(Refusal):
    """What holds for a client would be another for days that are settled."""

    def __init__(self, client: Client, days: Sequence[str]) -> None:
        shown = "; ".join([*days[:MOST_SHOWN], *(["..."] if len(days) > MOST_SHOWN else [])])
        super().__init__(
            f"{client.client_id} from {client.valid_from} on: {len(days)} settled days would be others ({shown}). "
            "Nothing was changed. Give a later --valid-from; or, if it is meant, --move-settled with --reason TEXT."
        )


class AbbreviatedZone(Refusal):
    """Postgres would take the time zone's name for an abbreviation: one offset all year, or another for each reader."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the time zone '{name}' is an abbreviation to Postgres, which has no summer time, and may be another "
            "offset in a reader's session: days would be cut at the wrong hour. Nothing was changed. Give a region "
            "like Europe/Berlin, or UTC."
        )


@dataclass(frozen=True)
class Client:
    """What holds for a client from the local date `valid_from` on; money in millionths of the currency."""

    client_id: str
    valid_from: date
    time_zone: str
    currency: str
    daily_budget_micros: int | None


@dataclass(frozen=True)
class Day:
    """A day of a client as it is served; money in millionths."""

    day: date
    time_zone: str
    currency: str | None
    spend_micros: int
    finality: str

    def __str__(self) -> str:
        """The spend, and in whose day."""
        amount = f"{in_units(self.spend_micros).normalize(EXACT):f}"
        return " ".join(filter(None, (amount, self.currency, f"({self.time_zone})")))


def in_units(micros: int) -> Decimal:
    """Millionths of a currency, up to 38 digits of them, as an amount of it, exactly."""
    return EXACT.divide(Decimal(micros), Decimal(1_000_000))


def moved(before: Sequence[Day], after: Sequence[Day]) -> list[str]:
    """The days that were settled before and are others after, in words: spend, currency or the zone that cuts them."""
    now = {day.day: day for day in after}
    return [
        f"{day.day}: {day} -> {now.get(day.day, 'nothing')}"
        for day in before
        if day.finality in SETTLED and str(now.get(day.day)) != str(day)
    ]


class ClientBook:
    """Reads and writes the clients, as role kappa_registry."""

    def __init__(self, dsn: str) -> None:
        self._database = Database(dsn)

    def put(self, client: Client, by: Author, move_settled: bool = False) -> None:
        """Say what holds; the same client and date again replaces it. Raises AbbreviatedZone, Refusal for a time zone
        that Postgres does not know, Unreachable, SettledDays unless `move_settled`."""
        try:
            with self._database.transaction() as connection:
                connection.execute("set transaction isolation level repeatable read")
                _check_zone(connection, client.time_zone)
                before = _days(connection, client.client_id)
                connection.execute(_PUT, vars(client))
                moves = moved(before, _days(connection, client.client_id))
                if moves and not move_settled:
                    raise SettledDays(client, moves)
                evidence = {**vars(client), "valid_from": client.valid_from.isoformat(), "moved": moves}
                audit(connection, Entry(by, "client.set", evidence=evidence))
        except psycopg.errors.InvalidParameterValue as error:
            raise Refusal(
                f"Postgres does not know the time zone '{client.time_zone}', so it could not cut days in it. "
                "Nothing was changed."
            ) from error

    def rows(self, client_id: str | None = None) -> list[Client]:
        """All rows, or those of one client, by client and date."""
        with self._database.transaction() as connection:
            rows = connection.execute(_ROWS, {"client_id": client_id}).fetchall()
        return [_client(row) for row in rows]

    def abbreviated(self) -> list[Client]:
        """The rows, by client and date, with a time zone that `put` refuses: stored before it did, or by other means.
        Raises Unreachable."""
        with self._database.transaction() as connection:
            abbreviations = _abbreviations(connection)
        return [row for row in self.rows() if row.time_zone.upper() in abbreviations]


EXACT = Context(prec=38, rounding=ROUND_DOWN)
"""As many digits as numeric(38, 0) has: arithmetic without it rounds to 28."""
SETTLED = ("provisional", "final")
MOST_SHOWN = 5
_DAYS = """
select budget_day as day, time_zone, currency, spend_micros, finality from serving.client_spend_day
where client_id = %s order by budget_day"""
_PUT = """
insert into reference.client (client_id, valid_from, time_zone, currency, daily_budget_micros)
values (%(client_id)s, %(valid_from)s, %(time_zone)s, %(currency)s, %(daily_budget_micros)s)
on conflict (client_id, valid_from) do update set
    time_zone = excluded.time_zone, currency = excluded.currency,
    daily_budget_micros = excluded.daily_budget_micros"""
_ROWS = """
select client_id, valid_from, time_zone, currency, daily_budget_micros from reference.client
where %(client_id)s::text is null or client_id = %(client_id)s order by client_id, valid_from"""
_ABBREVIATIONS = "select abbrev from pg_timezone_abbrevs where abbrev not in ('UTC', 'GMT')"
"""AT TIME ZONE looks among these first, in whatever case, and among the zones that have rules only then."""


def _check_zone(connection: Connection, name: str) -> None:
    """Raises AbbreviatedZone, psycopg's InvalidParameterValue for a zone that Postgres does not know."""
    if name.upper() in _abbreviations(connection):
        raise AbbreviatedZone(name)
    connection.execute("select now() at time zone %s", [name])


def _days(connection: Connection, client_id: str) -> list[Day]:
    rows = connection.execute(_DAYS, [client_id]).fetchall()
    return [Day(**{**row, "spend_micros": int(row["spend_micros"])}) for row in rows]


def _abbreviations(connection: Connection) -> set[str]:
    return {row["abbrev"] for row in connection.execute(_ABBREVIATIONS)}


def _client(row: DictRow) -> Client:
    return Client(**{**row, "daily_budget_micros": _whole(row["daily_budget_micros"])})


def _whole(amount: object) -> int | None:
    return None if amount is None else int(str(amount))
