"""The served numbers in Postgres, read as kappa_operator through the contract's views only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg.rows import DictRow, dict_row

from kappa.core.refusals import Refusal
from oracle.days import Client
from oracle.fates import FATES, Rules
from oracle.postgres_rows import Connection, rows_of
from oracle.served import Segment, Served, ServingVersion, Snapshot, Told

_SEGMENTS = """
select job, version,
    case when isfinite(from_window) then (extract(epoch from from_window) * 1000)::bigint end as from_ms,
    case when isfinite(to_window) then (extract(epoch from to_window) * 1000)::bigint end as to_ms
from ops.segments order by job, from_window
"""
_VERSION = """
select topic, settings, start_offsets, (extract(epoch from starts_at) * 1000)::bigint as starts_ms
from ops.versions where job = %s and version = %s
"""
_REACH = """
select "partition", next_offset, floor(extract(epoch from read_append_time) * 1000)::bigint as read_ms,
    floor(extract(epoch from drained_at) * 1000)::bigint as drained_ms, kept_from
from ops.progress where job = %s and version = %s
"""
_FRESHNESS = """
select version, floor(extract(epoch from complete_through) * 1000)::bigint as through from serving.freshness
where job = %s
"""
_PROGRESS = """
select s.job, p.partition, p.next_offset from ops.segments s left join ops.progress p using (job, version)
where s.to_window = 'infinity'
"""
_CLIENTS = "select client_id, valid_from, time_zone, currency, daily_budget_micros from reference.client"
_NOW = "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as at_ms"


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
        """What is served of these jobs, or of all, in one REPEATABLE READ transaction. Raises DatabaseUnreadable."""
        with moment(self._dsn) as connection:
            segments: dict[str, list[Segment]] = {}
            for row in connection.execute(_SEGMENTS):
                segments.setdefault(row.pop("job"), []).append(Segment(**row))
            chosen = {job: held for job, held in segments.items() if jobs is None or job in jobs}
            served = tuple(_served(connection, job, tuple(held)) for job, held in chosen.items())
            found = tuple(clients(connection))
            return Snapshot(served, found, _one(connection, _NOW)["at_ms"])


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


def _served(connection: Connection, job: str, segments: tuple[Segment, ...]) -> Served:
    numbers = sorted({segment.version for segment in segments})
    versions = {number: _version(connection, job, number) for number in numbers}
    fresh = connection.execute(_FRESHNESS, [job]).fetchone()
    through = fresh["through"] if fresh and fresh["version"] == segments[-1].version else None
    return Served(job, segments, versions, through, **rows_of(connection, job))


def _version(connection: Connection, job: str, number: int) -> ServingVersion:
    held = _one(connection, _VERSION, job, number)
    reach = connection.execute(_REACH, [job, number]).fetchall()
    return ServingVersion(
        version=number,
        topic=held["topic"],
        rules=rules(held["settings"], held["starts_ms"]),
        start={int(partition): int(offset) for partition, offset in held["start_offsets"].items()},
        end={row["partition"]: row["next_offset"] for row in reach},
        told={row["partition"]: Told(row["read_ms"], row["drained_ms"]) for row in reach},
        kept_from={row["partition"]: row["kept_from"] for row in reach if row["kept_from"] is not None},
        **_accounting(connection, job, number),
    )


def _one(connection: Connection, statement: str, *values: object) -> DictRow:
    row = connection.execute(statement, values or None).fetchone()
    if row is None:
        raise DatabaseUnreadable(f"nothing is where {values} was named: {' '.join(statement.split())}")
    return row


def _accounting(connection: Connection, job: str, version: int) -> dict[str, dict[str, int]]:
    row = _one(connection, "select * from ops.accounting where job = %s and version = %s", job, version)
    records = {name: int(row[name]) for name in ("read", *FATES)}
    return {
        "records": records,
        "micros": {fate: int(row[f"{fate}_micros"]) for fate in FATES if f"{fate}_micros" in row},
    }


def _whole(number: Decimal | None) -> int | None:
    return None if number is None else int(number)
