"""Bring a change that cannot go on to one of its ends: forward or back, never between (architecture, section 5)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from kappa.core.audit import Author, Entry
from kappa.core.changes import ENDED, Change, Mark, Phase
from kappa.core.refusals import Refusal
from kappa.core.store.location import StoreAway
from kappa.core.versions import OVER, Desired
from kappa.platform import Platform, wait_until
from kappa.verbs.drivers.finite_program import drop_scratch
from kappa.verbs.drivers.launch import launch, version_of
from kappa.verbs.drivers.readiness import wait_ready
from kappa.verbs.stop.steps import finish_driver, shut_out


class Direction(StrEnum):
    """Where a change goes."""

    FORWARD = "forward"
    BACK = "back"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Verdict:
    """Where a change goes, and why."""

    direction: Direction
    why: str


def decide(change: Change, has_new_batches: bool) -> Verdict:
    """The verdict on a change whose driver can commit nothing any more, its epoch having been raised.

    `has_new_batches`: whether a batch of the new generation was committed. Where the generation stays the same that
    says nothing: the batches before the change are of it, too.
    """
    if change.phase in ENDED:
        return Verdict(Direction.NOTHING, f"the change has ended as {change.phase}")
    if change.phase is not Phase.SWITCHED:
        return Verdict(Direction.BACK, f"it was {change.phase}: the version still is what it was")
    if change.repartitions and has_new_batches:
        why = f"generation {change.new.generation} has a committed batch, which the old one does not hold"
        return Verdict(Direction.FORWARD, why)
    if Mark.READY in change.marks:
        return Verdict(Direction.FORWARD, "its driver was ready: only the end was not written down")
    if change.repartitions:
        new, old = change.new.generation, change.old.generation
        return Verdict(Direction.BACK, f"no batch of generation {new} was committed: generation {old} holds all")
    return Verdict(Direction.BACK, "the checkpoint is the same, so what ran before goes on from where this one stopped")


FREE_SECONDS = 120.0


class CheckpointHeld(Refusal):
    """Finite Spark work that nobody waits for any more still holds the version's checkpoints."""

    def __init__(self, job: str, version: int, seconds: float) -> None:
        super().__init__(
            f"{job} v{version}: Spark work of an earlier run still holds its checkpoints after {seconds:.0f} s; "
            "no driver was started beside it. Look for 'repartition.py' among the processes (of Spark's hosts, where "
            "ops.finite_programs names its driver), end it, then './kappa repair'."
        )


def settle(platform: Platform, change: Change, by: Author, why: str = "") -> str:
    """End the change by what the database holds, drop its scratch, have the driver running that is wanted, and say
    which way it went.

    The epoch is raised before the look, so that no batch can be committed after it. Raises CheckpointHeld, NotReady.
    """
    registry, current = platform.registry, platform.registry.change(change.change_id)
    if current.phase is Phase.HELD:
        finish_driver(platform, current.job, current.version, by)
    if current.phase is Phase.SWITCHED and Mark.READY not in current.marks:
        shut_out(platform, current.job, current.version, by)
    verdict = decide(current, registry.has_batches(current.job, current.version, current.new.generation))
    if verdict.direction is not Direction.NOTHING:
        registry.end_change(current.change_id, Phase.DONE if verdict.direction is Direction.FORWARD else Phase.UNDONE)
        said = sentence(current, verdict.direction, verdict.why)
        evidence = {"sentence": said, "change_id": str(current.change_id), "phase": current.phase, "why": why}
        action = f"{current.verb}.{'forward' if verdict.direction is Direction.FORWARD else 'undone'}"
        registry.record(Entry(by, action, current.job, current.version, evidence))
    # A store that is away keeps no change from its end: what stays there is swept later.
    with suppress(StoreAway):
        drop_scratch(platform.settings, current)
    run_if_wanted(platform, current.job, current.version)
    return sentence(current, verdict.direction, verdict.why)


def run_if_wanted(platform: Platform, job: str, number: int) -> None:
    """Have the version's driver at work if that is what its operator wants. Raises CheckpointHeld, NotReady."""
    version = version_of(platform, job, number)
    if version.desired is Desired.STOPPED or version.state in OVER:
        return
    wait_free(platform, job, number)
    wait_ready(platform, launch(platform, job, number))


def wait_free(platform: Platform, job: str, version: int, seconds: float = FREE_SECONDS) -> None:
    """Wait until no finite Spark work holds the checkpoints. Raises CheckpointHeld."""
    if not wait_until(platform.clock, seconds, lambda: platform.registry.checkpoint_is_free(job, version)):
        raise CheckpointHeld(job, version, seconds)


def sentence(change: Change, direction: Direction, why: str) -> str:
    """What became of the change, in one sentence."""
    if direction is Direction.NOTHING or change.phase in ENDED:
        return f"the {change.verb} of {change.name} had ended already."
    if direction is Direction.FORWARD:
        return f"the {change.verb} of {change.name} was carried to its end: {why}."
    was = f"artifact {change.old.artifact}, generation {change.old.generation}"
    return f"the {change.verb} of {change.name} was undone: {why}; it is what it was before ({was})."
