"""Making a generation of a checkpoint: copied, repartitioned, proved, and only then given its name."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.rescale import state_proof
from jobs.rescale.change_store import Generation
from jobs.rescale.state_proof import Proof
from kappa.core.changes import Mark
from kappa.core.checkpoint.copies import complete, copy_running, link
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.checkpoint.repartitionable import UnsupportedOperator, check_repartitionable
from kappa.core.refusals import Refusal

logger = logging.getLogger("kappa.generations")
PREPARED_BYTES = 8_000_000_000
"""Of a larger state nothing is done in advance: copy and rehearsal would outlast the wait for a warm repartition."""


class NoState(Refusal):
    """The checkpoint has no committed batch, or no stateful operator: there is nothing to repartition."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(
            f"checkpoint {checkpoint.path.name} holds no state yet: it has no committed batch or no stateful operator. "
            "Nothing was touched. Rescale once the version has committed a batch."
        )


class PendingBatch(Refusal):
    """A batch was planned and not committed; repartitioned now, it would be lost or counted twice."""

    def __init__(self, checkpoint: Checkpoint, planned: int | None, committed: int | None) -> None:
        super().__init__(
            f"checkpoint {checkpoint.path.name} planned batch {planned}, and committed {committed}. Nothing was "
            "repartitioned. Start the version again, so that it finishes that batch, then rescale."
        )


def check_supported(spark: SparkSession, checkpoint: Checkpoint) -> None:
    """Refuse what Spark would spoil: its own checks come after it has written to the checkpoint.

    Raises NoState, UnsupportedProvider, UnsupportedOperator, DamagedOffsets.
    """
    facts, (version, job) = checkpoint.facts(), (folder.name for folder in checkpoint.path.parents[:2])
    if facts.newest_committed is None or not facts.operators:
        raise NoState(checkpoint)
    operators = checkpoint.operators()
    check_repartitionable(job, version, facts.provider, (operator.name for operator in operators))
    for operator in operators:
        if not state_proof.key_columns(spark, checkpoint, operator, facts.newest_committed):
            raise UnsupportedOperator(job, version, f"{operator.name} without a key")


@contextmanager
def draft(spark: SparkSession, running: Checkpoint, target: Path, partitions: int) -> Iterator[Checkpoint]:
    """Begin the generation at `target` while its checkpoint is still written to: the copy that `make` completes.

    What the stream is then paused for is done here first: most files are copied, and the rest is rehearsed on them, by
    code that is thereby loaded and compiled; what cannot succeed is refused while the stream still runs. What an
    earlier try left at `target` is removed, and at the end what this one leaves. Raises as `make` does.
    """
    check_supported(spark, running)
    work = _clear(target)
    try:
        if running.facts().bytes <= PREPARED_BYTES:
            copy_running(running.path, work.path)
            _rehearse(spark, work, partitions)
        yield work
    finally:
        for left in _left(target):
            shutil.rmtree(left, ignore_errors=True)


def make(
    spark: SparkSession, old: Checkpoint, work: Checkpoint, target: Path, partitions: int, pause: Callable[[Mark], None]
) -> tuple[Proof, int]:
    """A proved copy of a stopped checkpoint at `target`, with that many partitions; the proof, and its newest batch.

    `old` is only read; `work` is its draft, and becomes `target`. `pause` is told each part that is done (copied,
    measured, repartitioned, proved), and may raise to go no further. Raises NoState, UnsupportedProvider,
    UnsupportedOperator, PendingBatch, StateDiffers; OSError and Spark's own errors, after which it may be tried again.
    """
    check_supported(spark, old)
    check_settled(old)
    complete(old.path, work.path)
    pause(Mark.COPIED)
    before = state_proof.measure(spark, old)
    pause(Mark.MEASURED)
    repartition(spark, work, partitions)
    pause(Mark.REPARTITIONED)
    proof = Proof(before, state_proof.measure(spark, work))
    state_proof.check(proof)
    pause(Mark.PROVED)
    work.path.rename(target)
    base = Checkpoint(target).newest_committed()
    assert base is not None
    return proof, base


def _rehearse(spark: SparkSession, work: Checkpoint, partitions: int) -> None:
    """Repartition and prove a copy of the draft, and throw it away."""
    copy = Checkpoint(work.path.with_name(f"{work.path.name}.rehearsal"))
    link(work.path, copy.path)
    before = state_proof.measure(spark, copy)
    repartition(spark, copy, partitions)
    state_proof.check(Proof(before, state_proof.measure(spark, copy)))
    shutil.rmtree(copy.path, ignore_errors=True)


def repartition(spark: SparkSession, checkpoint: Checkpoint, partitions: int) -> None:
    """Rewrite the state for another number of partitions, as a batch of its own that reads nothing; the one call of it.

    Asked for the number that it has, it does nothing. Raises PendingBatch.
    """
    check_settled(checkpoint)
    if checkpoint.facts().state_partitions == partitions:
        logger.info("checkpoint %s has %s partitions already", checkpoint.path.name, partitions)
        return
    manager = spark._streamingCheckpointManager
    manager.repartition(str(checkpoint.path), partitions, enforce_exactly_once_sink=True)


def entry(number: int, made_from: int, partitions: int, made: tuple[Proof, int]) -> Generation:
    """What the registry keeps of a generation."""
    proof, base = made
    return Generation(number, made_from, partitions, base, proof.to_json())


def check_settled(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint with a batch that is not committed. Raises PendingBatch."""
    if checkpoint.is_pending():
        raise PendingBatch(checkpoint, checkpoint.newest_planned(), checkpoint.newest_committed())


def _clear(target: Path) -> Checkpoint:
    """Remove what earlier tries left, and name this try's folder: an orphan's late writes must not reach it."""
    for left in (target, *_left(target)):
        shutil.rmtree(left, ignore_errors=True)
    return Checkpoint(target.with_name(f"{target.name}.work-{os.getpid()}"))


def _left(target: Path) -> list[Path]:
    """The folders of unfinished tries, their rehearsals and what was never wholly copied."""
    return [*target.parent.glob(f"{target.name}.work-*"), *target.parent.glob(f".{target.name}.work-*")]
