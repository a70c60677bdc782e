"""The book of clients in Postgres: what holds for a client from a local date on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import psycopg

from jobs.refusals import Refusal
from kappa.hooks.postgres import PostgresRegistry
from kappa.hooks.registry import Author, Entry
from kappa.hooks.transactions import audit


class ZoneUnknownToPostgres(Refusal):
    """Postgres, which cuts the days, does not know the time zone."""

    def __init__(self, zone: str) -> None:
        super().__init__(
            f"Postgres does not know the time zone '{zone}', so it could not cut days in it. Nothing was changed."
        )


@dataclass(frozen=True)
class Client:
    """What holds for a client from the local date `valid_from` on; money in millionths of the currency."""

    client_id: str
    valid_from: date
    time_zone: str
    currency: str
    daily_budget_micros: int | None


class ClientBook:
    """Reads and writes the clients, as role kappa_registry."""

    def __init__(self, dsn: str) -> None:
        self._registry = PostgresRegistry(dsn)

    def put(self, client: Client, by: Author) -> None:
        """Say what holds; the same client and date again replaces it. Raises ZoneUnknownToPostgres,
        Unreachable."""
        try:
            with self._registry.transaction() as connection:
                connection.execute("select now() at time zone %s", [client.time_zone])
                connection.execute(_PUT, vars(client))
                evidence = {**vars(client), "valid_from": client.valid_from.isoformat()}
                audit(connection, Entry(by, "client.set", evidence=evidence))
        except psycopg.errors.InvalidParameterValue as error:
            raise ZoneUnknownToPostgres(client.time_zone) from error

    def rows(self, client_id: str | None = None) -> list[Client]:
        """All rows, or those of one client, by client and date."""
        with self._registry.transaction() as connection:
            rows = connection.execute(_ROWS, {"client_id": client_id}).fetchall()
        return [Client(**{**row, "daily_budget_micros": _whole(row["daily_budget_micros"])}) for row in rows]


_PUT = """
insert into reference.client (client_id, valid_from, time_zone, currency, daily_budget_micros)
values (%(client_id)s, %(valid_from)s, %(time_zone)s, %(currency)s, %(daily_budget_micros)s)
on conflict (client_id, valid_from) do update set
    time_zone = excluded.time_zone, currency = excluded.currency,
    daily_budget_micros = excluded.daily_budget_micros"""
_ROWS = """
select client_id, valid_from, time_zone, currency, daily_budget_micros from reference.client
where %(client_id)s::text is null or client_id = %(client_id)s order by client_id, valid_from"""


def _whole(amount: object) -> int | None:
    return None if amount is None else int(str(amount))
