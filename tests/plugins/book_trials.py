"""Both registries for the contract tests of the books that grow with time: batches of a job, refused records."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from kappa.core.versions import State
from kappa.registry.bookkeeping_port import Bookkeeping
from kappa.registry.postgres import PostgresRegistry
from tests.plugins.fake_books import FakeBatch
from tests.plugins.fakes import NOON, FakeRegistry
from tests.plugins.registries import BY, COUNTS, version
from tests.rigs.case import Case

JOB, QUARANTINE = "ad_ctr", "quarantine"
Hour = tuple[int, int, int]
"""A row that batches were folded into: the first and the last one's id, and the records that they read."""


class BookTrial(Protocol):
    """A registry with version 1 of both jobs, and what their drivers do."""

    @property
    def registry(self) -> Bookkeeping:
        """The registry on trial."""

    @property
    def hour(self) -> datetime:
        """The full hour in which the test began."""

    def commit(self, batch_id: int, read: int, at: datetime, generation: int = 1, torn: bool = False) -> None:
        """A batch that begins where the last one ended, or, `torn`, elsewhere."""

    def refuse(self, partition: int, offset: int, appended_at: datetime, recorded_at: datetime) -> None:
        """A refused record."""

    def retire(self) -> None:
        """The version is RETIRED."""

    def meddle(self) -> None:
        """Somebody changes a batch by hand."""

    def read(self) -> int:
        """The records that the version has read, by ops.accounting."""

    def batches(self, generation: int = 1) -> list[int]:
        """The ids of the batches that are kept one by one."""

    def hours(self, generation: int = 1) -> list[Hour]:
        """What became of the others."""

    def refused(self) -> dict[int, list[int]]:
        """The offsets of the refused records that are kept, by partition."""

    def kept_from(self) -> dict[int, int]:
        """The offsets before which none is kept any more, by partition."""


@dataclass
class FakeBookTrial:
    """The fake on trial."""

    registry: FakeRegistry = field(default_factory=FakeRegistry)
    hour: datetime = NOON

    def __post_init__(self) -> None:
        for job in (JOB, QUARANTINE):
            self.registry.stage(version(job), BY, {})

    def commit(self, batch_id: int, read: int, at: datetime, generation: int = 1, torn: bool = False) -> None:
        self.registry.book((JOB, 1, generation), FakeBatch(batch_id, read, at, torn))

    def refuse(self, partition: int, offset: int, appended_at: datetime, recorded_at: datetime) -> None:
        self.registry.refused.setdefault((1, partition), {})[offset] = max(appended_at, recorded_at)

    def retire(self) -> None:
        self.registry.alter(JOB, 1, state=State.RETIRED)

    def meddle(self) -> None:
        self.registry.totals[JOB, 1] += 1

    def read(self) -> int:
        return self.registry.totals[JOB, 1]

    def batches(self, generation: int = 1) -> list[int]:
        return [batch.batch_id for batch in self.registry.committed[JOB, 1, generation]]

    def hours(self, generation: int = 1) -> list[Hour]:
        return self.registry.hours.get((JOB, 1, generation), [])

    def refused(self) -> dict[int, list[int]]:
        return {partition: sorted(held) for (_, partition), held in self.registry.refused.items() if held}

    def kept_from(self) -> dict[int, int]:
        return {partition: offset for (_, partition), offset in self.registry.kept_from.items()}


@dataclass
class PostgresBookTrial:
    """The registry in Postgres on trial, in a database of its own."""

    case: Case
    hour: datetime = field(default_factory=lambda: datetime.now(UTC).replace(minute=0, second=0, microsecond=0))
    offset: int = 0

    @property
    def registry(self) -> PostgresRegistry:
        """The registry on trial."""
        return PostgresRegistry(self.case.settings.dsn("kappa_registry"))

    def commit(self, batch_id: int, read: int, at: datetime, generation: int = 1, torn: bool = False) -> None:
        first = self.offset + torn
        self.offset = first + read
        self.case.query(
            "insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, committed_at, "
            f"start_offsets, end_offsets, {', '.join(COUNTS)}) values (%s, 1, %s, %s, 1, 'id', %s, %s, %s, %s, %s"
            f"{', 0' * 6}, %s{', 0' * 6})",
            JOB, generation, batch_id, at, json.dumps({"0": first}), json.dumps({"0": self.offset}), read, read,
            7 * read, role="kappa_writer",
        )  # fmt: skip

    def refuse(self, partition: int, offset: int, appended_at: datetime, recorded_at: datetime) -> None:
        self.case.query(
            'insert into data.quarantine (version, topic, fate, reason, "partition", "offset", append_time, '
            "recorded_at) values (1, 't', 'late', 'r', %s, %s, %s, %s)", partition, offset, appended_at, recorded_at,
        )  # fmt: skip

    def retire(self) -> None:
        self.case.query("update registry.job_version set state = 'RETIRED' where job = %s", JOB)

    def meddle(self) -> None:
        self.case.query("update registry.batch set read = read + 1, late = late + 1 where batch_id = 0")

    def read(self) -> int:
        told = self.case.accounts(JOB)
        assert told["read"] == told["counted"]
        assert told["counted_micros"] == 7 * told["counted"]
        return int(told["read"])

    def batches(self, generation: int = 1) -> list[int]:
        return [row["batch_id"] for row in self.case.batches(JOB) if row["generation"] == generation]

    def hours(self, generation: int = 1) -> list[Hour]:
        rows = self.case.query(
            "select first_batch_id, last_batch_id, read, counted, counted_micros from ops.batch_hours "
            "where job = %s and generation = %s order by last_batch_id", JOB, generation,
        )  # fmt: skip
        assert all((row["counted"], row["counted_micros"]) == (row["read"], 7 * row["read"]) for row in rows)
        return [(row["first_batch_id"], row["last_batch_id"], row["read"]) for row in rows]

    def refused(self) -> dict[int, list[int]]:
        kept: dict[int, list[int]] = {}
        for row in self.case.query('select "partition", "offset" from data.quarantine order by 1, 2'):
            kept.setdefault(row["partition"], []).append(row["offset"])
        return kept

    def kept_from(self) -> dict[int, int]:
        rows = self.case.query('select "partition", kept_from from ops.progress where kept_from is not null')
        return {row["partition"]: row["kept_from"] for row in rows}


def ago(trial: BookTrial, hours: float, minutes: float = 0) -> datetime:
    """A time that so many hours before the test's own began."""
    return trial.hour - timedelta(hours=hours) + timedelta(minutes=minutes)
