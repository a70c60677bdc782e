"""Making a generation of a checkpoint: copied, repartitioned and proved in a folder of its own try."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from pyspark.sql import SparkSession

from jobs.rescale import state_proof
from jobs.rescale.change_store import Generation
from jobs.rescale.state_proof import Proof
from kappa.core.changes import Mark
from kappa.core.checkpoint.copies import complete, copy_running, link
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.checkpoint.repartitionable import UnsupportedOperator, check_repartitionable
from kappa.core.refusals import Refusal
from kappa.core.store.location import Location

logger = logging.getLogger("kappa.generations")
PREPARED_BYTES = 8_000_000_000
"""Of a larger state nothing is done in advance: copy and rehearsal would outlast the wait for a warm repartition."""


class NoState(Refusal):
    """The checkpoint has no committed batch, or no stateful operator: there is nothing to repartition."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(
            f"checkpoint {checkpoint.place.name} holds no state yet: it has no committed batch or no stateful "
            "operator. Nothing was touched. Rescale once the version has committed a batch."
        )


class PendingBatch(Refusal):
    """A batch was planned and not committed; repartitioned now, it would be lost or counted twice."""

    def __init__(self, checkpoint: Checkpoint, planned: int | None, committed: int | None) -> None:
        super().__init__(
            f"checkpoint {checkpoint.place.name} planned batch {planned}, and committed {committed}. Nothing was "
            "repartitioned. Start the version again, so that it finishes that batch, then rescale."
        )


def check_supported(spark: SparkSession, checkpoint: Checkpoint) -> None:
    """Refuse what Spark would spoil: its own checks come after it has written to the checkpoint.

    Raises NoState, UnsupportedProvider, UnsupportedOperator, DamagedOffsets.
    """
    facts, (version, job) = checkpoint.facts(), (checkpoint.place.parent.name, checkpoint.place.parent.parent.name)
    if facts.newest_committed is None or not facts.operators:
        raise NoState(checkpoint)
    operators = checkpoint.operators()
    check_repartitionable(job, version, facts.provider, (operator.name for operator in operators))
    for operator in operators:
        if not state_proof.key_columns(spark, checkpoint, operator, facts.newest_committed):
            raise UnsupportedOperator(job, version, f"{operator.name} without a key")


@contextmanager
def draft(
    spark: SparkSession,
    running: Checkpoint,
    of_version: Location,
    number: int,
    partitions: int,
    still: Callable[[], None] = lambda: None,
) -> Iterator[Checkpoint]:
    """Begin the generation of this number while its checkpoint is still written to: the copy that `make` completes.

    It lies below `of_version` in a folder of this try: an orphan's late writes must not reach it, and no store need
    rename it. It is real once the registry names it. What the stream is then paused for is done here first: most files
    are copied, and the rest is rehearsed on them, by code that is thereby loaded and compiled; what cannot succeed is
    refused while the stream still runs. What earlier tries left is removed first, once `still` lets this one go on: it
    raises where another may be at work by now. Where this one fails, it removes its own folders only, for the same
    reason. Raises as `make` does.
    """
    check_supported(spark, running)
    still()
    _remove(of_version, number)
    work = Checkpoint(of_version / f"g{number}-{uuid4().hex[:8]}")
    try:
        if running.facts().bytes <= PREPARED_BYTES:
            copy_running(running.place, work.place)
            logger.info("checkpoint %s is copied to %s, as far as it goes", running.place.name, work.place.name)
            _rehearse(spark, work, partitions)
            logger.info("%s state partitions were made and proved on a copy of the copy", partitions)
        yield work
    except BaseException:
        for name in of_version.names():
            if name.lstrip(".").startswith(work.place.name):
                (of_version / name).delete()
        raise


def make(
    spark: SparkSession, old: Checkpoint, work: Checkpoint, partitions: int, pause: Callable[[Mark], None]
) -> tuple[Proof, int]:
    """Make a draft of a stopped checkpoint the proved copy with that many partitions; the proof, and its newest batch.

    `old` is only read. `pause` is told each part that is done (copied, measured, repartitioned, proved), and may raise
    to go no further. Raises NoState, UnsupportedProvider, UnsupportedOperator, PendingBatch, StateDiffers; OSError and
    Spark's own errors, after which it may be tried again.
    """
    check_supported(spark, old)
    check_settled(old)
    complete(old.place, work.place)
    pause(Mark.COPIED)
    before = state_proof.measure(spark, old)
    pause(Mark.MEASURED)
    repartition(spark, work, partitions)
    pause(Mark.REPARTITIONED)
    proof = Proof(before, state_proof.measure(spark, work))
    state_proof.check(proof)
    pause(Mark.PROVED)
    base = work.newest_committed()
    assert base is not None
    return proof, base


def _rehearse(spark: SparkSession, work: Checkpoint, partitions: int) -> None:
    """Repartition and prove a copy of the draft, and throw it away."""
    copy = Checkpoint(work.place.parent / f"{work.place.name}.rehearsal")
    link(work.place, copy.place)
    before = state_proof.measure(spark, copy)
    repartition(spark, copy, partitions)
    state_proof.check(Proof(before, state_proof.measure(spark, copy)))
    copy.place.delete()


def repartition(spark: SparkSession, checkpoint: Checkpoint, partitions: int) -> None:
    """Rewrite the state for another number of partitions, as a batch of its own that reads nothing; the one call of it.

    Asked for the number that it has, it does nothing. Raises PendingBatch.
    """
    check_settled(checkpoint)
    if checkpoint.facts().state_partitions == partitions:
        logger.info("checkpoint %s has %s partitions already", checkpoint.place.name, partitions)
        return
    manager = spark._streamingCheckpointManager
    manager.repartition(str(checkpoint.place), partitions, enforce_exactly_once_sink=True)


def entry(number: int, work: Checkpoint, made_from: int, partitions: int, made: tuple[Proof, int]) -> Generation:
    """What the registry keeps of a generation."""
    proof, base = made
    return Generation(number, work.place.name, made_from, partitions, base, proof.to_json())


def check_settled(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint with a batch that is not committed. Raises PendingBatch."""
    if checkpoint.is_pending():
        raise PendingBatch(checkpoint, checkpoint.newest_planned(), checkpoint.newest_committed())


def _remove(of_version: Location, number: int) -> None:
    """Remove what tries at the generation left, also those of older code, which named folders otherwise."""
    for name in of_version.names():
        if name == f"g{number}" or name.lstrip(".").startswith((f"g{number}-", f"g{number}.")):
            (of_version / name).delete()
