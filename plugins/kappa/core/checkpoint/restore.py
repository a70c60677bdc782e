"""Restores the small files of a checkpoint from what the database committed, where that is provably exact.

A plan (offsets/N) is written again from the end offsets and the watermark of batch N in the database, a commit from the
watermark of the batch after it. What Spark can do again is taken away: the plan of a batch that nobody committed, with
the state after it, and the newest commit; Spark runs that batch again, and the sink finds it written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

from kappa.core.checkpoint.copies import drop_beyond
from kappa.core.checkpoint.reader import (
    METADATA,
    PARTITIONS,
    Checkpoint,
    CheckpointLost,
    DamagedOffsets,
    DatabaseBehind,
    ForeignCheckpoint,
    Planned,
)
from kappa.core.refusals import Refusal
from kappa.core.store.location import Location

PLANS, COMMITS = "offsets", "commits"


class NotRestorable(Refusal):
    """What is lost cannot be told from what the database holds."""

    def __init__(self, place: Location, why: str) -> None:
        super().__init__(
            f"checkpoint {place.name} cannot be restored exactly: {why}. Nothing was changed. Bring its files back, or "
            "replay the log into a new version with './kappa reprocess'."
        )


@dataclass(frozen=True)
class Mend:
    """One file, from the checkpoint's folder on: its new text, or None where it is taken away; why that is exact."""

    file: str
    text: str | None
    why: str


@dataclass(frozen=True)
class Source:
    """What plans are told by: the topic, how many partitions the state has, and the newest batches that the database
    committed from this generation, by id."""

    topic: str
    state_partitions: int
    committed: Mapping[int, Planned]


def plan(checkpoint: Checkpoint, source: Source) -> list[Mend]:
    """What has to be written or taken away for Spark to go on; nothing where all can be read. Changes nothing.

    Raises NotRestorable, CheckpointLost, DatabaseBehind, ForeignCheckpoint.
    """
    newest = _check_state(checkpoint, source)
    pending = _pending(checkpoint, newest, source.topic)
    mends = [*_identity(checkpoint), *_commits(checkpoint, newest, pending, source)]
    if pending is None and checkpoint.newest_planned() == newest + 1:
        mends.append(Mend(f"{PLANS}/{newest + 1}", None, "nothing of it was committed: Spark plans the batch anew"))
    for batch_id in range(max(0, newest if pending else newest - 1), newest + 1):
        mends += _plan_of(checkpoint, batch_id, source)
    return mends


def carry_out(checkpoint: Checkpoint, mends: Sequence[Mend]) -> None:
    """Write and take away; a file is replaced whole. Doing it again does nothing else."""
    for mend in mends:
        file = checkpoint.place / mend.file
        if mend.text is not None:
            file.write(mend.text.encode())
            continue
        file.delete()
        if file.parent.name == PLANS:
            drop_beyond(checkpoint.place, int(file.name) - 1)


def _check_state(checkpoint: Checkpoint, source: Source) -> int:
    """The newest batch in the database, if the state is that of the batch, or of the one before it: a commit's name
    says so. Raises NotRestorable, CheckpointLost, DatabaseBehind."""
    committed = checkpoint.newest_committed()
    newest = max(source.committed, default=None)
    if newest is None:
        raise NotRestorable(checkpoint.place, "the database holds no batch of it")
    if committed is not None and committed > newest:
        raise DatabaseBehind(checkpoint.place, newest, committed)
    if newest - (-1 if committed is None else committed) > 1:
        raise CheckpointLost(checkpoint.place, newest, checkpoint.newest_planned())
    return newest


def _identity(checkpoint: Checkpoint) -> Iterator[Mend]:
    try:
        checkpoint.check_identity()
    except DamagedOffsets:
        yield Mend(METADATA, json.dumps({"id": str(uuid4())}), "it names the query, and no number depends on that name")


def _pending(checkpoint: Checkpoint, newest: int, topic: str) -> Planned | None:
    """The batch after the newest in the database, where Spark has planned it and its plan can be read."""
    try:
        return checkpoint.planned(newest + 1, topic)
    except DamagedOffsets:
        return None


def _commits(checkpoint: Checkpoint, newest: int, pending: Planned | None, source: Source) -> Iterator[Mend]:
    """The newest commit, where it cannot be read; and the one before it where it is to be the newest then.

    A commit holds the watermark that the next batch runs with. Of the newest batch none may be known.
    """
    committed = checkpoint.newest_committed()
    if committed is None or _has_commit(checkpoint, committed):
        return
    following = source.committed[newest] if committed < newest else pending
    if following is not None:
        yield _commit_of(committed, following)
        return
    if newest and not _has_commit(checkpoint, newest - 1):
        yield _commit_of(newest - 1, source.committed[newest])
    yield Mend(f"{COMMITS}/{newest}", None, "Spark runs the batch again, which changes nothing")


def _commit_of(batch_id: int, following: Planned) -> Mend:
    told = json.dumps({"nextBatchWatermarkMs": following.watermark_ms}, separators=(",", ":"))
    return Mend(f"{COMMITS}/{batch_id}", f"v1\n{told}", "the batch after it has the watermark that it tells")


def _has_commit(checkpoint: Checkpoint, batch_id: int) -> bool:
    try:
        checkpoint.check_commit(batch_id)
    except DamagedOffsets:
        return False
    return True


def _plan_of(checkpoint: Checkpoint, batch_id: int, source: Source) -> Iterator[Mend]:
    """The plan of a batch, written again where it cannot be read. Raises NotRestorable, ForeignCheckpoint."""
    known = source.committed.get(batch_id)
    try:
        found = checkpoint.planned(batch_id, source.topic)
    except DamagedOffsets as damaged:
        if known is None:
            why = f"the database holds no batch {batch_id} of this generation, and its plan is lost"
            raise NotRestorable(checkpoint.place, why) from damaged
        text = _text(_pinned(checkpoint, batch_id, source), known, source.topic)
        yield Mend(f"{PLANS}/{batch_id}", text, f"the database has the batch, up to the offsets {known.end}")
        return
    if known is not None and found.end != known.end:
        raise ForeignCheckpoint(checkpoint.place, known.end, found.end)


def _pinned(checkpoint: Checkpoint, batch_id: int, source: Source) -> list[str]:
    """The plan of the nearest batch with the same settings of Spark: they are pinned for a checkpoint's life, but for
    the state's partitions. Raises NotRestorable."""
    others = {*map(int, filter(str.isdigit, (checkpoint.place / PLANS).names()))} - {batch_id}
    for other in sorted(others, key=lambda other: abs(other - batch_id)):
        with suppress(DamagedOffsets, KeyError, ValueError):
            checkpoint.planned(other, source.topic)
            lines = (checkpoint.place / PLANS / str(other)).read().decode().splitlines()
            if int(json.loads(lines[1])["conf"][PARTITIONS]) == source.state_partitions:
                return lines
    raise NotRestorable(checkpoint.place, "no plan is left to take Spark's pinned settings from")


def _text(pinned: Sequence[str], batch: Planned, topic: str) -> str:
    """A plan with the settings of another one. Its `batchTimestampMs` stays: no query asks for the time."""
    told = {**json.loads(pinned[1]), "batchWatermarkMs": batch.watermark_ms}
    ends = {topic: {str(partition): offset for partition, offset in sorted(batch.end.items())}}
    return "\n".join([pinned[0], *(json.dumps(part, separators=(",", ":")) for part in (told, ends))])
