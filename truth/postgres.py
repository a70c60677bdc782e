"""The served numbers in Postgres, read as kappa_operator through the contract's views only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Identifier

from jobs.refusals import Refusal
from truth.days import Client
from truth.decode import Event
from truth.fates import FATES, Rules
from truth.served import Served, ServedDay, ServedRow, Snapshot

_DAYS, _QUARANTINE = "client_spend", "quarantine"

_LIVE = """
select v.job, v.version, v.settings, v.start_offsets,
    (extract(epoch from v.starts_at) * 1000)::bigint as starts_ms,
    case when isfinite(s.from_window) then (extract(epoch from s.from_window) * 1000)::bigint end as from_ms
from ops.segments s join ops.versions v using (job, version)
where s.to_window = 'infinity' order by v.job
"""
_PROGRESS = """
select s.job, p.partition, p.next_offset from ops.segments s left join ops.progress p using (job, version)
where s.to_window = 'infinity'
"""
_KEPT_FROM = """
select "partition", kept_from from ops.progress
where job = %s and version = %s and kept_from is not null
"""
_MINUTES = SQL("""
select {keys}, (extract(epoch from window_start) * 1000)::bigint as minute,
    impressions, clicks, spend_micros, duplicates, repeated_clicks, ctr::text as ctr
from serving.{view}
where %(from_ms)s::bigint is null or window_start >= to_timestamp(%(from_ms)s::bigint / 1000)
""")
_DAY_ROWS = """
select client_id, budget_day, time_zone, currency, budget_micros, impressions, clicks, spend_micros
from serving.client_spend_day
"""
_CLIENTS = "select client_id, valid_from, time_zone, currency, daily_budget_micros from reference.client"
_COLUMNS = """
select column_name from information_schema.columns
where table_schema = 'serving' and table_name = %s order by ordinal_position
"""

Connection = psycopg.Connection[DictRow]


class DatabaseUnreadable(Refusal):
    """The database does not answer, or refuses."""

    def __init__(self, error: object) -> None:
        super().__init__(f"the served numbers cannot be read: {error}. `./kappa status` says what runs.")


class PostgresDatabase:
    """Where the served numbers are; `dsn` is kappa_operator's."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def progress(self) -> dict[str, dict[int, int]]:
        """job -> partition -> next offset that its live version has committed. Raises DatabaseUnreadable."""
        with moment(self._dsn) as connection:
            return _progress(connection)

    def snapshot(self, jobs: frozenset[str] | None) -> Snapshot:
        """The live versions of these jobs, or of all, in one REPEATABLE READ transaction. Raises
        DatabaseUnreadable."""
        with moment(self._dsn) as connection:
            ends = _progress(connection)
            live = connection.execute(_LIVE).fetchall()
            chosen = [row for row in live if jobs is None or row["job"] in jobs]
            served = tuple(_served(connection, row, ends.get(row["job"], {})) for row in chosen)
            return Snapshot(served, tuple(clients(connection)))


@contextmanager
def moment(dsn: str) -> Iterator[Connection]:
    """One read-only transaction that sees one moment, its times in UTC. Raises DatabaseUnreadable."""
    try:
        with psycopg.connect(dsn, row_factory=dict_row, connect_timeout=10, options="-c timezone=UTC") as connection:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            yield connection
    except psycopg.Error as error:
        raise DatabaseUnreadable(str(error).strip()) from error


def clients(connection: Connection) -> Iterator[Client]:
    """The rows of reference.client."""
    for row in connection.execute(_CLIENTS):
        yield Client(**{**row, "daily_budget_micros": _whole(row["daily_budget_micros"])})


def rules(settings: Mapping[str, Any], starts_ms: int | None) -> Rules:
    """A version's settings that decide fates."""
    interval = settings.get("click_interval_ms")
    return Rules(
        int(settings["allowed_lateness_ms"]),
        int(settings["future_bound_ms"]),
        None if interval is None else int(interval),
        starts_ms,
    )


def _progress(connection: Connection) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for row in connection.execute(_PROGRESS):
        offsets = found.setdefault(row["job"], {})
        if row["partition"] is not None:
            offsets[row["partition"]] = row["next_offset"]
    return found


def _served(connection: Connection, live: DictRow, ends: dict[int, int]) -> Served:
    job, settings = live["job"], live["settings"]
    keys = _keys(connection, job)
    return Served(
        job=job,
        version=live["version"],
        rules=rules(settings, live["starts_ms"]),
        start={int(partition): offset for partition, offset in live["start_offsets"].items()},
        end=ends,
        from_ms=live["from_ms"],
        **_accounting(connection, job, live["version"]),
        keys=keys,
        minutes=_minutes(connection, job, keys, live["from_ms"]) if keys else None,
        days=_days(connection) if job == _DAYS else None,
        quarantine=_quarantine(connection, live["start_offsets"], ends) if job == _QUARANTINE else None,
        kept_from=_kept_from(connection, job, live["version"]),
    )


def _keys(connection: Connection, job: str) -> tuple[str, ...]:
    """The fields by which `serving.<job>_minute` groups: its columns that are fields of an event; none
    without that view."""
    columns = [row["column_name"] for row in connection.execute(_COLUMNS, [f"{job}_minute"])]
    return tuple(column for column in columns if column in Event._fields)


def _accounting(connection: Connection, job: str, version: int) -> dict[str, dict[str, int]]:
    row = connection.execute("select * from ops.accounting where job = %s and version = %s", [job, version]).fetchone()
    if row is None:
        raise DatabaseUnreadable(f"ops.accounting has no row of {job} version {version}")
    records = {name: int(row[name]) for name in ("read", *FATES)}
    return {
        "records": records,
        "micros": {fate: int(row[f"{fate}_micros"]) for fate in FATES if f"{fate}_micros" in row},
    }


def _minutes(
    connection: Connection, job: str, keys: tuple[str, ...], from_ms: int | None
) -> dict[tuple[object, ...], ServedRow]:
    query = _MINUTES.format(keys=SQL(", ").join(map(Identifier, keys)), view=Identifier(f"{job}_minute"))
    return {
        (*(row[key] for key in keys), row["minute"]): ServedRow(
            row["impressions"],
            row["clicks"],
            int(row["spend_micros"]),
            row["duplicates"],
            row["repeated_clicks"],
            None if row["ctr"] is None else Decimal(row["ctr"]),
        )
        for row in connection.execute(query, {"from_ms": from_ms})
    }


def _days(connection: Connection) -> dict[tuple[str, date], ServedDay]:
    return {
        (row["client_id"], row["budget_day"]): ServedDay(
            row["time_zone"],
            row["currency"],
            _whole(row["budget_micros"]),
            row["impressions"],
            row["clicks"],
            int(row["spend_micros"]),
        )
        for row in connection.execute(_DAY_ROWS)
    }


def _quarantine(connection: Connection, starts: dict[str, int], ends: dict[int, int]) -> dict[tuple[int, int], str]:
    """What is kept of the records that the version read."""
    rows = connection.execute('select "partition", "offset", fate from ops.quarantine').fetchall()
    return {
        (row["partition"], row["offset"]): row["fate"]
        for row in rows
        if starts.get(str(row["partition"]), 0) <= row["offset"] < ends.get(row["partition"], 0)
    }


def _kept_from(connection: Connection, job: str, version: int) -> dict[int, int]:
    rows = connection.execute(_KEPT_FROM, [job, version]).fetchall()
    return {row["partition"]: row["kept_from"] for row in rows}


def _whole(number: Decimal | None) -> int | None:
    return None if number is None else int(number)
