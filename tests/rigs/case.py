"""A case on rig R1: one log, one database, a version of each job, the drivers that run them, and what must hold."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import psycopg
from confluent_kafka import Producer
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from kappa.core import job_catalog
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import KafkaLog, Offsets
from oracle.compare import Difference
from oracle.postgres import PostgresDatabase
from oracle.reconcile import SystemClock, reconcile
from oracle.topic import KafkaTopic
from stack.layout import Layout
from stack.services.passwords import SUPERUSER
from tests.rigs.events import Sent
from tests.rigs.figures import Figure, note, of_verdict
from tests.rigs.program import PATIENCE_SECONDS, Program
from tests.rigs.staged_driver import Staged

RECOVERED_SECONDS = 60
"""The longest from a fault's end to the next commit (docs/faults.md)."""


@dataclass
class Case:
    """One log, one database, and the version of each job in it. `job` may be left out where there is but one."""

    layout: Layout
    versions: dict[str, Staged] = field(default_factory=dict)
    _open: psycopg.Connection[DictRow] | None = None
    _struck: float | None = None
    _ends: list[datetime] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        """The settings by which every process of the case finds its parts."""
        return self.layout.settings

    def version(self, job: str | None = None) -> Staged:
        """The version of a job."""
        return self.versions[job] if job else next(iter(self.versions.values()))

    def produce(self, records: Sequence[Sent]) -> None:
        """Append records; all are in the log afterwards."""
        access = self.settings.kafka_access(KafkaUser.PRODUCER).librdkafka()
        producer = Producer({**access, "acks": "all", "partitioner": "murmur2_random"})
        failed: list[object] = []
        for record in records:
            where = {} if record.partition is None else {"partition": record.partition}
            producer.produce(
                self.settings.topic.name, record.value, record.key, **where,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )  # fmt: skip
            producer.poll(0)
        assert not producer.flush(PATIENCE_SECONDS)
        assert not failed, failed[:3]

    def run_until_read(self, *jobs: str) -> None:
        """Run the driver of each job, one after another, until it has read the whole log; then stop it."""
        for job in jobs or tuple(self.versions):
            with self.driver(job) as program:
                program.await_read()

    @contextmanager
    def driver(self, job: str | None = None, settings: Settings | None = None) -> Iterator[Program]:
        """The driver's program, running in a thread of this process while the body does, then stopped. It finds its
        parts by other settings where some are given."""
        program = Program(self, self.launch(job), settings or self.settings)
        program.thread.start()
        try:
            yield program
        finally:
            program.stop()

    def launch(self, job: str | None = None) -> Staged:
        """The version, wanted running, with a launch that nobody has claimed. What is wrong with it begins now, and
        if it is not the first one, what was wrong before is over."""
        staged = replace(self.version(job), launch=uuid.uuid4())
        key = {"job": staged.job, "version": staged.version, "launch": staged.launch}
        with self._connect(SUPERUSER) as connection:
            for statement in _LAUNCH:
                connection.execute(statement, key)
            started = connection.execute(_STARTED, [staged.job, staged.version]).fetchone()
        self.versions[staged.job] = staged
        self.strike()
        if started:
            self._ends.append(started["now"])
        return staged

    def strike(self) -> None:
        """A fault begins now: how long it takes until there is a red line is measured from here."""
        self._struck = time.monotonic()

    def relieve(self) -> None:
        """A fault is over now: how long it takes until something is committed is measured from here."""
        self._ends.append(self.query("select clock_timestamp() as now")[0]["now"])

    def query(self, statement: str, *values: Any, role: str = SUPERUSER) -> list[DictRow]:
        """The rows of a statement."""
        with self._connection(role) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def one_connection(self) -> Iterator[None]:
        """What the superuser asks in the body, again and again, is asked over one connection: to sign in takes several
        times as long as the question."""
        with self._connect(SUPERUSER) as self._open:
            try:
                yield
            finally:
                self._open = None

    def ends(self) -> Offsets:
        """One past the last offset of each partition."""
        with KafkaLog(self.settings.kafka_access(KafkaUser.CONTROL), self.settings.topic.name) as log:
            return log.ends()

    def progress(self, job: str | None = None) -> Offsets:
        """The committed next offset of each partition."""
        found = self.query(_PROGRESS, *self._key(job))
        return {row["partition"]: row["next_offset"] for row in found}

    def accounts(self, job: str | None = None) -> DictRow:
        """The version's row of ops.accounting."""
        return self.query("select * from ops.accounting where job = %s and version = %s", *self._key(job))[0]

    def batches(self, job: str | None = None) -> list[DictRow]:
        """The batches that the version committed, oldest first."""
        return self.query(_BATCHES, *self._key(job))

    def rows(self, job: str | None = None) -> list[DictRow]:
        """What the version holds in its table."""
        staged = self.version(job)
        name, version = sql.Identifier("data", job_catalog.find(staged.job).table), staged.version
        with self._connect(SUPERUSER) as connection:
            return connection.execute(sql.SQL("select * from {} where version = %s").format(name), [version]).fetchall()

    def state(self, job: str | None = None) -> str:
        """The version's state in the registry."""
        found = self.query("select state from ops.versions where job = %s and version = %s", *self._key(job))
        return str(found[0]["state"])

    def red(self, job: str | None = None) -> dict[str, str]:
        """The version's red lines: what, detail."""
        found = self.query(_RED, *self._key(job))
        if found and self._struck is not None:
            seconds, self._struck = time.monotonic() - self._struck, None
            note({Figure.RED: seconds})
        return {row["what"]: row["detail"] for row in found}

    def checkpoint(self, job: str | None = None, folder: str = "g1") -> Checkpoint:
        """The checkpoint of a version's generation, by its folder; the first where none is named."""
        staged = self.version(job)
        return Checkpoint(self.settings.checkpoints(staged.job, staged.version) / folder)

    def differences(self) -> list[Difference]:
        """Where what is served differs from what the oracle recomputes from the log, as far as each job has read."""
        topic = KafkaTopic(self.settings.kafka_access(KafkaUser.READER).librdkafka(), self.settings.topic.name)
        database = PostgresDatabase(self.settings.dsn("kappa_operator"))
        verdict = reconcile(topic, database, None, 0, SystemClock())
        note(of_verdict(asdict(verdict)))
        return verdict.differences

    def check(self) -> None:
        """All that is in the log was read, each record has one fate, ranges of offsets join (I5), and the oracle finds
        no difference in rows, counts and money (I1 to I3, I10)."""
        ends = self.ends()
        for job in self.versions:
            assert self.progress(job) == ends, f"{job} has not read the whole log"
            self.check_ranges(job)
        assert self.differences() == []
        self._check_recovery()

    def _check_recovery(self) -> None:
        """The first commit after each fault's end came in time (I8), where there was one."""
        first = [self.query(_FIRST_COMMIT, end, end)[0]["seconds"] for end in self._ends]
        if seconds := [float(each) for each in first if each is not None]:
            note({Figure.RECOVERED: max(seconds)})
            assert max(seconds) <= RECOVERED_SECONDS, f"nothing was committed for {max(seconds):.0f} s after the fault"

    def check_ranges(self, job: str | None = None) -> None:
        """No gap and no overlap between the batches of a version."""
        batches = self.batches(job)
        for before, after in pairwise(batches):
            assert before["end_offsets"] == after["start_offsets"], f"batches {before} and {after} do not join"
        begun, reached = self._start(job), self.progress(job)
        assert sum(batch["read"] for batch in batches) == sum(reached.values()) - sum(begun.values())

    def _start(self, job: str | None) -> Offsets:
        found = self.query("select start_offsets from ops.versions where job = %s and version = %s", *self._key(job))
        return {int(partition): offset for partition, offset in found[0]["start_offsets"].items()}

    def _key(self, job: str | None) -> tuple[str, int]:
        staged = self.version(job)
        return staged.job, staged.version

    @contextmanager
    def _connection(self, role: str) -> Iterator[psycopg.Connection[DictRow]]:
        if role == SUPERUSER and self._open is not None and not self._open.broken:
            yield self._open
        else:
            with self._connect(role) as connection:
                yield connection

    def _connect(self, role: str) -> psycopg.Connection[DictRow]:
        return psycopg.connect(self.settings.dsn(role), autocommit=True, connect_timeout=10, row_factory=dict_row)


_LAUNCH = (
    "update registry.launch set ended_at = coalesce(ended_at, clock_timestamp()) "
    "where job = %(job)s and version = %(version)s",
    "update registry.job_version set desired = 'running', updated_at = clock_timestamp() "
    "where job = %(job)s and version = %(version)s",
    "insert into registry.launch (launch_id, job, version) values (%(launch)s, %(job)s, %(version)s)",
)
_STARTED = (
    "select clock_timestamp() as now where exists (select from registry.driver_start where (job, version) = (%s, %s))"
)
_FIRST_COMMIT = (
    "select extract(epoch from min(committed_at) - %s) as seconds from registry.batch where committed_at > %s"
)
_PROGRESS = 'select "partition", next_offset from ops.progress where job = %s and version = %s'
_RED = "select what, detail from registry.red_line where job = %s and version = %s"
_BATCHES = "select * from ops.batches where job = %s and version = %s order by generation, batch_id"
