"""A version that is to run as something else, in place: what it ran as, what it shall, and how far that has come; and
what a program that works for it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

from kappa.core.serialization import Serializable
from kappa.core.verb_steps import Verb
from kappa.core.versions import Desired


class Phase(StrEnum):
    """How far a change has come. Until SWITCHED the version is what it was; DONE and UNDONE are its two ends."""

    BEGUN = "begun"
    HELD = "held"
    SWITCHED = "switched"
    DONE = "done"
    UNDONE = "undone"


ENDED = frozenset({Phase.DONE, Phase.UNDONE})


class Mark(StrEnum):
    """Moments of a change whose times are kept: the pause of a stream is told from them."""

    WARM = "warm"
    STANDBY = "standby"
    HELD = "held"
    STOPPED = "stopped"
    DRAINED = "drained"
    COPIED = "copied"
    MEASURED = "measured"
    REPARTITIONED = "repartitioned"
    PROVED = "proved"
    SWITCHED = "switched"
    LAUNCHED = "launched"
    READY = "ready"


@dataclass(frozen=True)
class RunsAs(Serializable):
    """What a version's driver runs: code, all resolved settings, and the generation of its checkpoint."""

    artifact: str
    settings: Mapping[str, int]
    generation: int


@dataclass(frozen=True)
class Change(Serializable):
    """One change of a version in place, by one run of a verb.

    `desired` is what the operator wanted of the version when it began, whatever the change holds it to meanwhile;
    `marks` are the times (ISO 8601, UTC) of its moments, by Mark.
    """

    change_id: UUID
    job: str
    version: int
    verb: str
    run_id: str
    desired: Desired
    old: RunsAs
    new: RunsAs
    phase: Phase = Phase.BEGUN
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether it was done or undone."""
        return self.phase in ENDED

    @property
    def repartitions(self) -> bool:
        """Whether the checkpoint is another one afterwards."""
        return self.old.generation != self.new.generation

    @property
    def wanted(self) -> Desired:
        """What is wanted of the version once it is changed: a deployment means that the job runs, any other verb leaves
        it as it was. One that is undone is wanted as `desired` says."""
        return Desired.RUNNING if self.verb == Verb.DEPLOY else self.desired

    @property
    def name(self) -> str:
        """The version for people."""
        return f"{self.job} v{self.version}"


@dataclass(frozen=True)
class Outcome(Serializable):
    """What a finite program of a change leaves of its end: what was done, in a sentence for people, what shows it, and
    whether it was done; where it was not, whether another try may do it."""

    sentence: str
    evidence: Mapping[str, Any]
    ok: bool = True
    may_pass: bool = False

    @property
    def is_no(self) -> bool:
        """Whether the program looked and said no: it would do so again."""
        return not self.ok and not self.may_pass


@dataclass(frozen=True)
class Attempt(Serializable):
    """One run of a finite program of a change. `submission_id` is what the cluster calls it, None where a task of
    Airflow runs it itself; `outcome` is None until it has ended."""

    attempt_id: UUID
    submission_id: str | None = None
    outcome: Outcome | None = None


def work_folder(shared: Path, change_id: object) -> Path:
    """Where a program's files lie that hosts exchange: in the folder that all of them share."""
    return shared / "work" / str(change_id)
