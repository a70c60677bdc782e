"""Versions that serve and their rows, written straight into Postgres, for tests of the views over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS, find

FIRST = 8_001
"""The version numbers from here on are these tests' own."""
CLOCKS = timedelta(minutes=1)
MEASURES = ("impressions", "clicks", "impression_micros", "click_micros")
Span = tuple[str, str, int]
RULES = {"allowed_lateness_ms": 0, "future_bound_ms": 300_000, "click_interval_ms": 10_000}


class ByHand:
    """Writes as the owner; all times are UTC."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._open: dict[str, psycopg.Connection[tuple[Any, ...]]] = {}

    def execute(self, statement: str, *values: Any, role: str = "kappa_owner") -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        cursor = self.connection(role).execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def connection(self, role: str) -> psycopg.Connection[tuple[Any, ...]]:
        """The hand's connection as a role; each statement is a transaction."""
        if role not in self._open:
            dsn = self.settings.dsn(role)
            self._open[role] = psycopg.connect(dsn, autocommit=True, options="-c timezone=UTC")
        return self._open[role]

    def close(self) -> None:
        """Close the connections."""
        for connection in self._open.values():
            connection.close()

    def stage(self, job: str, version: int, settings: Mapping[str, int] = RULES, partitions: int = 1) -> None:
        """A version that has read nothing yet, of a log with so many partitions."""
        self.execute(
            "insert into registry.job_version (job, version, state, artifact, state_digest, result_digest, settings, "
            "topic, topic_id, start_offsets) values (%s, %s, 'LIVE', 'a', 's', 'r', %s, 'ad_events', 'id', %s)",
            job, version, Jsonb(dict(settings)), Jsonb({str(p): 0 for p in range(partitions)}),
        )  # fmt: skip
        self.execute("select registry.add_rows_partition(%s, %s)", job, version)
        for partition in range(partitions):
            self.execute("insert into registry.progress values (%s, %s, %s, 0)", job, version, partition)

    def overrun(self, job: str, version: int) -> None:
        """A version that has been as it is for 4 hours, whose batch took 9 s, and whose oldest unread record has waited
        for half an hour."""
        was, unread = "clock_timestamp() - interval '4 hours'", "clock_timestamp() - interval '30 minutes'"
        self.execute(f"update registry.job_version set updated_at = {was} where job = %s", job)
        self.execute(
            f"update registry.progress set end_offset = 900000, read_append_time = {unread} where job = %s", job
        )
        self.execute(
            "insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation, "
            "batch_id, batch_ms, committed_at) values (%s, %s, 1, clock_timestamp() + interval '1 hour', 7, "
            "'driver-1', 1, 3, 9000, clock_timestamp())", job, version,
        )  # fmt: skip

    def serve(self, job: str, *spans: Span) -> None:
        """The job's segments: (from, to, version) each."""
        self.execute("delete from registry.segment where job = %s", job)
        for span in spans:
            self.execute("insert into registry.segment values (%s, %s, %s, %s)", job, *span)

    def through(self, job: str, version: int, complete_through: datetime | str | None) -> None:
        """Let the version have read so far that this is its complete_through; None: it has not read anything."""
        at = utc(complete_through) if isinstance(complete_through, str) else complete_through
        self.execute(
            "update registry.progress set read_append_time = %s where job = %s and version = %s",
            None if at is None else at + CLOCKS, job, version,
        )  # fmt: skip

    def rows(self, job: str, version: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Rows of a version; a row names its key and the measures that are not 0, of which all that arrived counted."""
        table = find(job).table
        for row in rows:
            full = {**{m: row.get(m, 0) for m in MEASURES}, **{f"seen_{m}": row.get(m, 0) for m in MEASURES}, **row}
            names, marks = ", ".join(full), ", ".join(["%s"] * len(full))
            self.execute(f"insert into data.{table} (version, {names}) values (%s, {marks})", version, *full.values())

    def spend(self, version: int, client: str, at: datetime | str, micros: int) -> None:
        """An impression of a client that costs so much."""
        window = utc(at) if isinstance(at, str) else at
        row = {"client_id": client, "window_start": window, "impressions": 1, "impression_micros": micros}
        self.rows("client_spend", version, [row])

    def client(self, client: str, time_zone: str, since: date | str) -> None:
        """A row of reference.client, with EUR and a budget of 10."""
        self.execute("insert into reference.client values (%s, %s, %s, 'EUR', 10)", client, since, time_zone)

    def days(self, client: str) -> dict[date, tuple[int, str]]:
        """A client's days as readers see them: spend and finality."""
        view = "select budget_day, spend_micros, finality from serving.client_spend_day where client_id = %s"
        return {day: (int(micros), how) for day, micros, how in self.execute(view, client, role="kappa_reader")}


def utc(text: str) -> datetime:
    """A time in UTC of ISO text."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@contextmanager
def by_hand(settings: Settings) -> Iterator[ByHand]:
    """A hand; segments, clients and versions are as before afterwards."""
    hand = ByHand(settings)
    segments = hand.execute("select job, from_window::text, to_window::text, version from registry.segment")
    clients = hand.execute("select * from reference.client")
    hand.execute("delete from registry.segment; delete from reference.client")
    try:
        yield hand
    finally:
        hand.execute("delete from registry.segment; delete from reference.client")
        _forget(hand)
        for segment in segments:
            hand.execute("insert into registry.segment values (%s, %s, %s, %s)", *segment)
        for client in clients:
            hand.execute("insert into reference.client values (%s, %s, %s, %s, %s)", *client)
        hand.close()


def _forget(hand: ByHand) -> None:
    staged = hand.execute("select job, version from registry.job_version where version >= %s", FIRST)
    for job, version in staged:
        if job in JOBS:
            hand.execute(f"drop table if exists data.{find(job).table}_v{version}")
    tables = hand.execute(
        "select c.table_name from information_schema.columns c join information_schema.tables t "
        "using (table_schema, table_name) where c.table_schema = 'registry' and c.column_name = 'version' "
        "and t.table_type = 'BASE TABLE' order by c.table_name = 'job_version'"
    )
    for (table,) in tables:
        if table not in ("audit",):
            hand.execute(f"delete from registry.{table} where version >= %s", FIRST)
