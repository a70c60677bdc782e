"""Both registries for the contract tests: the fake and the one in Postgres, each with a hand for what the data plane
writes, and with time that passes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb

from jobs.rescale.change_store import PostgresChangeStore
from kappa.core.audit import Author
from kappa.core.changes import Change, Mark, Outcome
from kappa.core.checkpoint.reader import Planned
from kappa.core.installation.settings import Settings
from kappa.core.versions import Desired, Heartbeat, State, Version
from kappa.registry.port import Registry
from kappa.registry.postgres import PostgresRegistry
from tests.plugins.fakes import FakeRegistry

BY, OTHER = Author("tester", f"run-{uuid4()}", "because"), Author("other", f"run-{uuid4()}")
TABLES = (
    "audit", "release", "replay", "pin", "segment", "lease", "generation", "finite_program", "change", "launch",
    "driver_start", "progress", "fence", "heartbeat", "batch", "batch_hour", "batch_total", "red_line", "job_version",
    "output",
)  # fmt: skip
OF_JOB = {
    "release": "%s = any(jobs)",
    "replay": "versions ? %s",
    "finite_program": "change_id in (select change_id from registry.change where job = %s)",
}
"""By table without a column `job`, which rows are a job's."""
COUNTS = (
    "read", "counted", "duplicate", "repeated_click", "late", "future", "before_start", "dead_letter",
    "counted_micros", "duplicate_micros", "repeated_click_micros", "late_micros", "future_micros",
    "before_start_micros", "rows_changed",
)  # fmt: skip
TWO_HOURS = 7200.0
NOTHING_READ = Planned({}, 0)


class CheckError(Exception):
    """What a check of a test finds."""


def speaks_against() -> None:
    """A check that finds something."""
    raise CheckError


def version(job: str, number: int = 1) -> Version:
    """A version to stage."""
    return Version(
        job=job, version=number, state=State.STAGED, desired=Desired.RUNNING, artifact="a" * 16,
        state_digest="s", result_digest="r", settings={"allowed_lateness_ms": 7},
        topic="ad_events", topic_id="id",
        starts_at=datetime(2026, 1, 31, 12, tzinfo=UTC), start_offsets={0: 5, 1: 0},
    )  # fmt: skip


class Trial(Protocol):
    """A registry with a job of the test's own, and what happens to version 1 of it from elsewhere."""

    @property
    def registry(self) -> Registry:
        """The registry on trial."""

    def beat(self, batch_ms: int) -> None:
        """The driver beats and has just committed."""

    def beat_again(self) -> None:
        """The driver beats and has committed nothing since."""

    def unread(self, seconds: float) -> None:
        """A record of each partition has waited for so long."""

    def commit(self, generation: int, batch_id: int = 0, planned: Planned = NOTHING_READ) -> None:
        """The driver commits a batch from a generation of the checkpoint."""

    def copied(self, change: Change, generation: int, folder: str | None = None) -> None:
        """A repartition marks a moment of the change and registers a generation; older code names no folder."""

    def leave_outcome(self, change: Change, attempt_id: UUID, outcome: Outcome) -> None:
        """A finite program of the change has ended."""

    def occupied(self) -> AbstractContextManager[None]:
        """Finite Spark work holds the checkpoints."""

    def two_hours_pass(self) -> None:
        """All that the registry knows of the job happened two hours earlier."""


@dataclass
class FakeTrial:
    """The fake on trial."""

    job: str
    registry: FakeRegistry = field(default_factory=FakeRegistry)

    def beat(self, batch_ms: int) -> None:
        now = self.registry.clock.now()
        self.registry.beats[self.job, 1] = Heartbeat(1, "driver-1", now, 0.0, now)
        self.registry.batch_ms[self.job, 1] = batch_ms

    def beat_again(self) -> None:
        self.registry.beats[self.job, 1] = replace(self.registry.beats[self.job, 1], beat_at=self.registry.clock.now())

    def unread(self, seconds: float) -> None:
        self.registry.lags[self.job, 1] = (2, seconds)

    def commit(self, generation: int, batch_id: int = 0, planned: Planned = NOTHING_READ) -> None:
        self.registry.batches.add((self.job, 1, generation))
        self.registry.planned.setdefault((self.job, 1, generation), {})[batch_id] = planned

    def copied(self, change: Change, generation: int, folder: str | None = None) -> None:
        self.registry.mark(change.change_id, Mark.PROVED)
        self.registry.generations.setdefault((self.job, 1), {})[generation] = folder or f"g{generation}"

    def leave_outcome(self, change: Change, attempt_id: UUID, outcome: Outcome) -> None:
        self.registry.leave_outcome(attempt_id, outcome)

    @contextmanager
    def occupied(self) -> Iterator[None]:
        self.registry.occupied.add((self.job, 1))
        yield
        self.registry.occupied.remove((self.job, 1))

    def two_hours_pass(self) -> None:
        self.registry.clock.sleep(TWO_HOURS)


@dataclass
class PostgresTrial:
    """The registry in Postgres on trial; what jobs write is written as the role that jobs write as."""

    job: str
    settings: Settings

    @property
    def registry(self) -> Registry:
        """The registry on trial."""
        return PostgresRegistry(self.settings.dsn("kappa_registry"))

    def beat(self, batch_ms: int) -> None:
        self._as_writer(
            "insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation, "
            "batch_ms, committed_at) values (%s, 1, 1, clock_timestamp(), 1, 'driver-1', 1, %s, clock_timestamp())",
            self.job, batch_ms,
        )  # fmt: skip

    def beat_again(self) -> None:
        self._as_writer("update registry.heartbeat set beat_at = clock_timestamp() where job = %s", self.job)

    def unread(self, seconds: float) -> None:
        self._as_writer(
            "update registry.progress set end_offset = next_offset + 1, "
            "drained_at = clock_timestamp() - %s * interval '1 second' where job = %s",
            seconds, self.job,
        )  # fmt: skip

    def commit(self, generation: int, batch_id: int = 0, planned: Planned = NOTHING_READ) -> None:
        self._as_writer(
            "insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, "
            f"end_offsets, watermark, {', '.join(COUNTS)}) values (%s, 1, %s, %s, 1, 'id', '{{}}', %s, "
            f"to_timestamp(%s / 1000.0){', 0' * len(COUNTS)})",
            self.job, generation, batch_id, Jsonb(planned.end), planned.watermark_ms,
        )  # fmt: skip

    def copied(self, change: Change, generation: int, folder: str | None = None) -> None:
        known = self._as_writer("select phase, new from registry.change where change_id = %s", change.change_id)
        assert known == [(change.phase, change.new.to_json())]
        self._as_writer(
            """update registry.change set marks = '{"proved": "2026-01-31T12:00:00+00:00"}' || marks """
            "where change_id = %s",
            change.change_id,
        )
        row = [generation, change.old.generation, change.change_id, Jsonb({})]
        for _ in range(2):
            self._as_writer("delete from registry.generation where job = %s", self.job)
            self._as_writer("insert into registry.generation values (%s, 1, %s, %s, %s, 4, 7, %s)", self.job, *row)
        if folder is not None:
            self._as_writer("update registry.generation set folder = %s where job = %s", folder, self.job)

    def leave_outcome(self, change: Change, attempt_id: UUID, outcome: Outcome) -> None:
        PostgresChangeStore(self.settings, self.job, 1, str(change.change_id)).leave(attempt_id, outcome)

    @contextmanager
    def occupied(self) -> Iterator[None]:
        with psycopg.connect(self.settings.dsn("kappa_writer"), autocommit=True) as writer:
            writer.execute(
                "select pg_advisory_lock(hashtextextended('kappa:checkpoint:' || %s || ':' || %s, 0))", [self.job, 1]
            )
            yield

    def two_hours_pass(self) -> None:
        columns = {
            "audit": ["at"], "lease": ["taken_at", "ends_at"], "change": ["begun_at"],
            "heartbeat": ["beat_at", "committed_at"], "job_version": ["updated_at"],
        }  # fmt: skip
        with psycopg.connect(self.settings.dsn("kappa_owner"), autocommit=True) as owner:
            for table, moments in columns.items():
                earlier = ", ".join(f"{moment} = {moment} - interval '2 hours'" for moment in moments)
                owner.execute(f"update registry.{table} set {earlier} where job = %s", [self.job])

    @contextmanager
    def prepared(self) -> Iterator[PostgresTrial]:
        """With the job's table; afterwards nothing is left of the job."""
        with psycopg.connect(self.settings.dsn("kappa_owner"), autocommit=True) as owner:
            owner.execute(f"create table data.{self.job} (version integer not null) partition by list (version)")
            owner.execute("insert into registry.output values (%s, %s)", [self.job, self.job])
            try:
                yield self
            finally:
                self._forget(owner)

    def _as_writer(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.settings.dsn("kappa_writer"), autocommit=True) as writer:
            cursor = writer.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def _forget(self, owner: psycopg.Connection[Any]) -> None:
        owner.execute(f"drop table data.{self.job}")
        for table in TABLES:
            column = OF_JOB.get(table, "job = %s")
            owner.execute(f"delete from registry.{table} where {column}", [self.job])
