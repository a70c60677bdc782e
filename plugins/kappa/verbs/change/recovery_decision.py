"""Whether a change that stands half done goes forward or back (architecture, section 5); never in a mix."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kappa.core.changes import ENDED, Change, Mark, Phase


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
