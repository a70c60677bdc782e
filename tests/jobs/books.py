"""A version's batches made by hand: what each read and the absolute rows after it, beside the books that they leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import psycopg
import pyarrow as pa
import pytest

from jobs.driver.registry import connect
from jobs.sinks import ledger, rows
from jobs.sinks.ledger import Batch, Owner, Written
from jobs.transforms.tally import Observed, Tally
from kappa.core.fates import QUARANTINED, REFUSED, Fate
from kappa.core.job_catalog import Job, find
from kappa.core.log.kafka_log import Offsets
from kappa.core.measures import MEASURES
from tests.jobs.records import NOON
from tests.rigs.case import Case

Key = tuple[str, str, int]
WATERMARK = NOON - 7_560_000
_NEWEST = NOON + 1_000


class Event(NamedTuple):
    """An accepted record: what it is, whose, what it costs, whether it counts (else it is a duplicate or a repeat)."""

    kind: str = "impression"
    ad: str = "a1"
    micros: int = 1_000
    counts: bool = True
    partition: int = 0


CLICK = Event("click", micros=7_000)
FIRST = [Event(), Event(counts=False), CLICK, CLICK._replace(counts=False), Event(partition=1, ad="a2")]
SECOND = [Event(micros=5), CLICK._replace(ad="a2"), Event(ad="a3", partition=1)]
"""Two batches: the first reads 4 and 1 records of the two partitions, the second 2 and 1."""


@dataclass
class Book:
    """What the books of a windowed job must hold after the batches so far: totals per row, and offsets."""

    owner: Owner
    totals: dict[Key, dict[str, int]] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=lambda: {0: 0, 1: 0})

    def batch(
        self, batch_id: int, events: Iterable[Event], refused: Mapping[Fate, Tally] | None = None, **changed: Any
    ) -> Batch:
        """The next batch, which the books hold from then on; refused records are all of partition 0. `changed` are
        fields of the batch that are told otherwise."""
        events, refused = list(events), {**dict.fromkeys(REFUSED, Tally()), **(refused or {})}
        touched = {self._enter(event) for event in events}
        for event in events:
            self.offsets[event.partition] += 1
        self.offsets[0] += sum(tally.records for tally in refused.values())
        rows = [{"client_id": k[0], "ad_id": k[1], "window_start": k[2], **self.totals[k]} for k in sorted(touched)]
        told = {
            "batch_id": batch_id,
            "end": dict(self.offsets),
            "watermark_ms": WATERMARK,
            "observed": observed(events, refused),
            "rows": table(rows),
        }
        return Batch(**{**told, **changed})

    def _enter(self, event: Event) -> Key:
        key = ("c1", event.ad, NOON)
        row = self.totals.setdefault(key, dict.fromkeys(MEASURES, 0))
        for prefix in ("seen_", "") if event.counts else ("seen_",):
            row[f"{prefix}{event.kind}s"] += 1
            row[f"{prefix}{event.kind}_micros"] += event.micros
        return key


def owner_of(case: Case, job: str = "ad_ctr", epoch: int = 0, generation: int = 1) -> Owner:
    """The owner of a case's version."""
    version = case.version(job)
    return Owner(find(job), version.version, epoch, generation, case.settings.topic.name, "topic-1")


def observed(events: Iterable[Event], refused: Mapping[Fate, Tally]) -> Observed:
    """What Spark would have observed of these records."""
    events = list(events)
    tallies = {
        kind: Tally(len(found), sum(event.micros for event in found))
        for kind in ("impression", "click")
        for found in ([event for event in events if event.kind == kind],)
    }
    read = len(events) + sum(tally.records for tally in refused.values())
    partitions = {event.partition for event in events} | ({0} if read > len(events) else set())
    newest = dict.fromkeys(sorted(partitions), _NEWEST)
    return Observed(read, refused, tallies["impression"], tallies["click"], NOON if events else None, newest)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows of ad_ctr as its pipeline hands them over; `window_start` in epoch ms."""
    kinds: dict[str, Any] = {"client_id": pa.string(), "ad_id": pa.string(), "window_start": pa.timestamp("us", "UTC")}
    kinds |= dict.fromkeys(MEASURES, pa.int64())
    plain = [{**row, "window_start": _moment(row["window_start"])} for row in rows]
    return pa.Table.from_pylist(plain, pa.schema(list(kinds.items())))


def refusals(offsets: Iterable[int], fate: Fate = Fate.DEAD_LETTER) -> pa.Table:
    """Rows of the quarantine as its pipeline hands them over, of partition 0."""
    kinds = {
        "partition": pa.int32(), "offset": pa.int64(), "append_ms": pa.int64(), "fate": pa.string(),
        "reason": pa.string(), "key": pa.binary(), "value": pa.binary(), "value_bytes": pa.int64(),
    }  # fmt: skip
    rows = [
        {"partition": 0, "offset": offset, "append_ms": _NEWEST, "fate": fate.value, "reason": "because",
         "key": b"\xff", "value": None, "value_bytes": None}
        for offset in offsets
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))


def quarantined(batch_id: int, kept: int, passed: int, offsets: Offsets, **changed: Any) -> Batch:
    """A batch of the quarantine that reads `kept` dead letters, then `passed` impressions, of partition 0 from
    `offsets` on, which are moved."""
    assert Fate.DEAD_LETTER in QUARANTINED
    first = offsets[0]
    offsets[0] += kept + passed
    refused = {**dict.fromkeys(REFUSED, Tally()), Fate.DEAD_LETTER: Tally(kept, 0)}
    told = {
        "batch_id": batch_id,
        "end": dict(offsets),
        "watermark_ms": 0,
        "observed": observed([Event()] * passed, refused),
        "rows": refusals(range(first, first + kept)),
    }
    return Batch(**{**told, **changed})


def stored(case: Case, job: Job) -> dict[str, list[dict[str, Any]]]:
    """All that a transaction of the ledger writes to."""
    told = {"rows": case.rows(job.name), "batches": case.batches(job.name)}
    return {**told, "progress": case.query('select * from registry.progress order by job, "partition"')}


def totals(case: Case) -> dict[Key, dict[str, int]]:
    """The rows of ad_ctr as a Book has them."""
    return {
        (row["client_id"], row["ad_id"], ms_of(row["window_start"])): {name: row[name] for name in MEASURES}
        for row in case.rows("ad_ctr")
    }


@dataclass
class Desk:
    """Somebody who writes by hand-made batches: their books, and a connection as a driver's."""

    case: Case
    book: Book
    connection: psycopg.Connection[tuple[Any, ...]]

    def write(self, batch: Batch, drained: dict[int, int] | None = None, ends: dict[int, int] | None = None) -> Written:
        """The transaction of one batch."""
        return ledger.write(self.connection, self.book.owner, batch, drained or {}, ends or {}, lambda: None)

    def refuses(self, batch: Batch, error: type[Exception], match: str | None = None) -> None:
        """The transaction is refused, and nothing of it stays; the connection is as good as before."""
        job = self.book.owner.job
        before = stored(self.case, job)
        with pytest.raises(error, match=match):
            self.write(batch)
        assert stored(self.case, job) == before
        assert self.connection.execute("select count(*) from stage").fetchone() == (0,)
        self.connection.rollback()


def desk_of(case: Case, job: str) -> Iterator[Desk]:
    """One that writes for a job of which nothing is written."""
    _empty(case)
    with connect(case.settings, job, 1, 0) as connection:
        rows.prepare(connection, find(job))
        yield Desk(case, Book(owner_of(case, job)), connection)


def _empty(case: Case) -> None:
    case.query("truncate registry.batch, registry.batch_total, data.ad_ctr_minute, data.quarantine")
    case.query("update registry.fence set epoch = 0")
    case.query(
        "update registry.progress set next_offset = 0, read_append_time = null, end_offset = null, drained_at = null"
    )


def moved(batch: Batch, measure: str, by: int, ad: str | None = None) -> Any:
    """The batch's rows with one value of one row changed: of that ad, or of the first row."""
    held = batch.rows.to_pylist()
    row = next(row for row in held if ad in (None, row["ad_id"]))
    row[measure] += by
    return table([{**row, "window_start": ms_of(row["window_start"])} for row in held])


def ms_of(moment: Any) -> int:
    """A timestamp in epoch ms."""
    return int(moment.timestamp() * 1000)


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
