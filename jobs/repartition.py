"""The program that gives a version another number of state partitions: a new generation of its checkpoint, proved."""
# ruff: noqa: E402 - the path is put right before anything is imported by it

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

# Started as a file, this folder comes first on the path and would hide modules of other packages.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

from pyspark.sql import SparkSession

from jobs import outcome, session
from jobs.driver.registry import DriverRegistry
from jobs.rescale import generations
from jobs.rescale.change_store import ChangeEnded, ChangeStore, PostgresChangeStore, check_open
from jobs.rescale.checkpoint_lock import CheckpointLock
from jobs.rescale.drain import drain
from kappa.core.changes import Change, Mark, Outcome, Phase
from kappa.core.checkpoint.reader import Checkpoint, checkpoint_of
from kappa.core.installation import settings as platform
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

PROGRAM = "repartition"
HELD_SECONDS = 600.0
POLL_SECONDS = 0.3


class NotHeld(Refusal):
    """The version's driver did not end in time."""

    def __init__(self, phase: str, driven: bool) -> None:
        why = "its driver has not ended" if driven else f"the change is only {phase}"
        super().__init__(
            f"waited {HELD_SECONDS:.0f} s for the version to be held, but {why}. Nothing was touched. Stop the version "
            "with './kappa stop', then run the rescale again."
        )


def main() -> int:
    """Make the generation that the change asks for; exit codes as in `jobs.outcome`."""
    given = outcome.arguments("Repartitions the state of one version for a change.")
    settings = platform.load(given.home)
    changes = PostgresChangeStore(settings, given.job, given.version, given.change)
    return outcome.carry_out(partial(changes.leave, given.attempt), lambda: _run(settings, given))


def _run(settings: Settings, given: argparse.Namespace) -> Outcome:
    changes = PostgresChangeStore(settings, given.job, given.version, given.change)
    registry = DriverRegistry(settings, given.job, given.version)
    try:
        with CheckpointLock(settings, given.job, given.version) as lock:
            return rescale(settings, given.job, given.version, changes, registry, lock)
    finally:
        changes.close()
        registry.close()


def rescale(
    settings: Settings, job: str, version: int, changes: ChangeStore, registry: DriverRegistry, lock: CheckpointLock
) -> Outcome:
    """Wait for the version to be held, drain it, make the new generation and enter it. Raises Refusal, ChangeEnded."""
    change, parent = check_open(changes), os.getppid()

    def still() -> None:
        """Refuse to go on as an orphan, without the lock, or for a change that another has given up."""
        outcome.check_parent(parent)
        lock.check()
        check_open(changes)

    of_version, number = settings.checkpoints(job, version), change.new.generation
    if (known := changes.generation(number)) is not None and (of_version / known.folder).exists():
        return Outcome(f"g{known.generation} was made already", {"proof": known.proof, "again": True})
    check_waiting(change)
    old = checkpoint_of(settings, registry.describe())
    spark = session.create(f"kappa-{PROGRAM}-{job}-v{version}", change.old.settings, store=settings.store)
    try:
        partitions = change.new.settings["state_partitions"]
        with generations.draft(spark, old, of_version, number, partitions, still) as work:
            changes.mark(Mark.WARM)
            wait_until_held(changes, still)
            pending = drain(spark, settings, registry, f"{PROGRAM}-{change.change_id}")
            changes.mark(Mark.DRAINED)
            return _make(spark, changes, change, old, work, still, pending)
    finally:
        spark.stop()


def check_waiting(change: Change) -> None:
    """Make sure that the version does not run on the new generation yet: what is there is removed to be made anew.

    Raises ChangeEnded.
    """
    if change.phase not in (Phase.BEGUN, Phase.HELD):
        raise ChangeEnded(f"the change is {change.phase} already")


def _make(
    spark: SparkSession,
    changes: ChangeStore,
    change: Change,
    old: Checkpoint,
    work: Checkpoint,
    still: Callable[[], None],
    pending: int | None,
) -> Outcome:
    wanted, had = change.new.settings["state_partitions"], old.facts().state_partitions

    def pause(moment: Mark) -> None:
        changes.mark(moment)
        still()

    made = generations.make(spark, old, work, wanted, pause)
    entered = generations.entry(change.new.generation, work, change.old.generation, wanted, made)
    changes.enter(entered)
    rows = sum(measured.rows for measured in made[0].after)
    return Outcome(
        f"{had} -> {wanted} state partitions, {rows} rows of state proved equal",
        {"proof": entered.proof, "base_batch_id": entered.base_batch_id, "drained_batch_id": pending},
    )


def wait_until_held(
    changes: ChangeStore, still: Callable[[], None], seconds: float = HELD_SECONDS, poll: float = POLL_SECONDS
) -> None:
    """Return once the change is held and no launch of the version is open; `still` may raise to wait no longer.

    Raises ChangeEnded, NotHeld.
    """
    deadline = time.monotonic() + seconds
    while True:
        change, driven = check_open(changes), changes.is_driven()
        check_waiting(change)
        if change.phase is Phase.HELD and not driven:
            return
        if time.monotonic() > deadline:
            raise NotHeld(change.phase, driven)
        still()
        time.sleep(poll)


if __name__ == "__main__":
    sys.exit(main())
