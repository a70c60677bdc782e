"""The transaction of a micro-batch: fence, batch row, rows, double entry, progress (architecture, section 3).

Delivery guarantee: a batch's rows, counts and offsets are committed together, once, by the owner of the version;
written a second time (after a lost answer to COMMIT, or a restart) it changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa

from jobs.sinks import entries, rows
from jobs.sinks.rows import Connection
from jobs.transforms.tally import Observed, Tally
from kappa.core.fates import QUARANTINED, Fate
from kappa.core.job_catalog import Job
from kappa.core.log.kafka_log import LastRead, Offsets
from kappa.core.refusals import Refusal


class Fenced(Refusal):
    """A newer driver owns the version; `batch_id` is what this one was about to commit, if anything."""

    def __init__(self, owner: Owner, batch_id: int | None = None) -> None:
        refused = "" if batch_id is None else f" Batch {batch_id} was refused, and nothing of it was written."
        super().__init__(
            f"{owner.job.name} v{owner.version}: epoch {owner.epoch} was taken over; this driver stops writing."
            f"{refused}"
        )


class OffsetsHaveGaps(Refusal):
    """Between the offsets of a batch lie others than those of the records that were read."""

    def __init__(self, batch_id: int, moved: int, read: int) -> None:
        super().__init__(
            f"batch {batch_id} moves over {moved} offsets, but read {read} records; it was rolled back. Offsets "
            "without a record are left by a transactional producer (its markers) or by compaction; the contract allows "
            "neither. Take them away from the topic, then replay the log into a new version with './kappa reprocess'."
        )


class OffsetsDoNotJoin(Refusal):
    """A batch does not begin where the last one ended, or comes again with other offsets."""

    def __init__(self, batch_id: int, expected: Offsets, found: Offsets) -> None:
        super().__init__(
            f"batch {batch_id} should cover the offsets {expected}, but covers {found}; it was rolled back. The "
            "checkpoint and the database belong to different histories: replay the log into a new version with "
            "'./kappa reprocess'."
        )


class CountedTwice(Exception):  # noqa: N818 - it passes: the batch is run again
    """Spark ran a stage of the batch again, and what the stage observed is there twice.

    It does so where an executor was lost with what it had computed for the next stage: the metrics of a stage that is
    run again are added to those of the first time.
    """

    def __init__(self, batch_id: int, moved: int, read: int) -> None:
        super().__init__(
            f"batch {batch_id} moves over {moved} offsets, but {read} records were counted: a stage was run again "
            "after an executor was lost; the batch was rolled back, and is run again as a whole"
        )


@dataclass(frozen=True)
class Owner:
    """Who writes: the version, the epoch that its fence must still hold, the checkpoint's generation, the topic."""

    job: Job
    version: int
    epoch: int
    generation: int
    topic: str
    topic_id: str


@dataclass(frozen=True)
class Batch:
    """A micro-batch after its one action: offset ranges per partition (end exclusive), what was observed, the rows."""

    batch_id: int
    end: Offsets
    watermark_ms: int
    observed: Observed
    rows: pa.Table

    @property
    def last_read(self) -> dict[int, LastRead]:
        """The last record per partition that was read: without gaps it has the offset before the end."""
        return {p: LastRead(self.end[p] - 1, at_ms) for p, at_ms in self.observed.last_append_ms.items()}


@dataclass(frozen=True)
class Written:
    """What a transaction did; `committed_ms` is the database's time of the batch, of a rewrite that of the first."""

    rewrite: bool
    fates: Mapping[Fate, Tally]
    rows: int
    committed_ms: int


def write(
    connection: Connection,
    owner: Owner,
    batch: Batch,
    drained: Mapping[int, int],
    ends: Mapping[int, int],
    check_log: Callable[[], None],
) -> Written:
    """Commit the batch, or nothing. `drained` are times (epoch ms) at which a partition had nothing unread; `check_log`
    is called last, and raises where the log is not the one that was read.

    Raises Fenced, OffsetsDoNotJoin, OffsetsHaveGaps, CountedTwice, DoubleEntryBroken, and what `check_log` raises;
    postgres.TRANSIENT, after which it may be called again.
    """
    with connection.transaction(), connection.cursor() as cursor:
        _hold_fence(cursor, owner, batch.batch_id)
        start, written_ms = _join(cursor, owner, batch)
        rows.copy(cursor, owner.job, batch.rows)
        fates, changed = _enter(cursor, owner, batch, rewrite=written_ms is not None)
        committed_ms = written_ms
        if committed_ms is None:
            committed_ms = _record(cursor, owner, batch, start, fates, changed)
            _advance(cursor, owner, batch, drained, ends)
        check_log()
    return Written(written_ms is not None, fates, changed, committed_ms)


def _hold_fence(cursor: psycopg.Cursor[Any], owner: Owner, batch_id: int) -> None:
    """Keep the fence as it is, and for this one transaction alone: a retry waits for the first, which the server may
    still have open, or be about to commit, and so sees what came of it."""
    held = cursor.execute(
        "select 1 from registry.fence where job = %s and version = %s and epoch = %s for no key update",
        (owner.job.name, owner.version, owner.epoch),
    ).fetchone()
    if not held:
        raise Fenced(owner, batch_id)


def _join(cursor: psycopg.Cursor[Any], owner: Owner, batch: Batch) -> tuple[Offsets, int | None]:
    """The batch's start offsets, and when it was written before (epoch ms), if it was."""
    known = cursor.execute(
        "select start_offsets, end_offsets, (extract(epoch from committed_at) * 1000)::bigint from registry.batch "
        "where job = %s and version = %s and generation = %s and batch_id = %s",
        (owner.job.name, owner.version, owner.generation, batch.batch_id),
    ).fetchone()
    if known:
        if _offsets(known[1]) != batch.end:
            raise OffsetsDoNotJoin(batch.batch_id, _offsets(known[1]), batch.end)
        return _offsets(known[0]), int(known[2])
    start = dict(
        cursor.execute(
            'select "partition", next_offset from registry.progress where job = %s and version = %s',
            (owner.job.name, owner.version),
        ).fetchall()
    )
    if start.keys() != batch.end.keys() or any(batch.end[p] < start[p] for p in start):
        raise OffsetsDoNotJoin(batch.batch_id, start, batch.end)
    moved = sum(batch.end.values()) - sum(start.values())
    if moved < batch.observed.read:
        raise CountedTwice(batch.batch_id, moved, batch.observed.read)
    if moved > batch.observed.read:
        raise OffsetsHaveGaps(batch.batch_id, moved, batch.observed.read)
    return start, None


def _enter(cursor: psycopg.Cursor[Any], owner: Owner, batch: Batch, *, rewrite: bool) -> tuple[dict[Fate, Tally], int]:
    """Write the rows and hold both entries against each other; returns the fates and the rows changed."""
    if owner.job.stateful:
        change = rows.upsert(cursor, owner.job, owner.version)
        entries.check(batch.observed, change, rewrite)
        return entries.fates(batch.observed, change), change.rows
    kept = rows.append(cursor, owner.version, owner.topic)
    expected = 0 if rewrite else sum(batch.observed.refused[fate].records for fate in QUARANTINED)
    if kept != expected:
        raise entries.DoubleEntryBroken("the number of records newly kept in quarantine", expected, kept)
    return entries.stateless_fates(batch.observed), kept


def _record(
    cursor: psycopg.Cursor[Any], owner: Owner, batch: Batch, start: Offsets, fates: Mapping[Fate, Tally], changed: int
) -> int:
    """Write the batch's row; returns its time by the database's clock (epoch ms)."""
    values: dict[str, Any] = {
        "job": owner.job.name,
        "version": owner.version,
        "generation": owner.generation,
        "batch_id": batch.batch_id,
        "epoch": owner.epoch,
        "topic_id": owner.topic_id,
        "start_offsets": json.dumps(start),
        "end_offsets": json.dumps(batch.end),
        "read": batch.observed.read,
        "rows_changed": changed,
    }
    values |= {fate.value: tally.records for fate, tally in fates.items()}
    values |= {f"{fate.value}_micros": t.micros for fate, t in fates.items() if fate is not Fate.DEAD_LETTER}
    marks = ", ".join(f"%({name})s" for name in values)
    statement = (
        f"insert into registry.batch ({', '.join(values)}, watermark) "  # noqa: S608 - names are ours, values are bound
        f"values ({marks}, to_timestamp(%(watermark_ms)s / 1000.0)) "
        "returning (extract(epoch from committed_at) * 1000)::bigint"
    )
    row = cursor.execute(statement, {**values, "watermark_ms": batch.watermark_ms}).fetchone()
    assert row is not None
    return int(row[0])


def _advance(
    cursor: psycopg.Cursor[Any], owner: Owner, batch: Batch, drained: Mapping[int, int], ends: Mapping[int, int]
) -> None:
    partitions, last = sorted(batch.end), batch.last_read
    cursor.execute(
        """update registry.progress p
        set next_offset = n.next_offset, end_offset = greatest(p.end_offset, n.end_offset, n.next_offset),
            read_append_time = greatest(p.read_append_time, to_timestamp(n.append_ms / 1000.0)),
            drained_at = greatest(p.drained_at, to_timestamp(n.drained_ms / 1000.0)),
            last_offset = coalesce(n.last_offset, p.last_offset),
            last_append_time = coalesce(to_timestamp(n.last_ms / 1000.0), p.last_append_time)
        from unnest(%s::integer[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
            as n(partition, next_offset, end_offset, append_ms, drained_ms, last_offset, last_ms)
        where p.job = %s and p.version = %s and p."partition" = n.partition""",
        (
            partitions,
            [batch.end[p] for p in partitions],
            [ends.get(p) for p in partitions],
            [batch.observed.newest_append_ms.get(p) for p in partitions],
            [drained.get(p) for p in partitions],
            [last[p].offset if p in last else None for p in partitions],
            [last[p].append_ms if p in last else None for p in partitions],
            owner.job.name,
            owner.version,
        ),
    )


def _offsets(stored: Mapping[str, int]) -> Offsets:
    return {int(partition): int(offset) for partition, offset in stored.items()}
