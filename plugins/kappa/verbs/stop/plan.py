"""The plan of a stop: the desired state of a job's current version, and what that takes."""

from __future__ import annotations

from dataclasses import dataclass

from kappa.core.refusals import Refusal
from kappa.core.serialization import Serializable
from kappa.core.verb_steps import StopStep
from kappa.core.versions import OVER, Desired
from kappa.verbs.desired import Found


class NothingDeployed(Refusal):
    """The job has no version that a verb could act on."""

    def __init__(self, job: str) -> None:
        super().__init__(f"{job} has no version that could run; nothing was changed. Deploy it: ./kappa deploy {job}.")


class AlreadyOver(Refusal):
    """The job's version has failed, so there is nothing to stop."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"{job} v{version} has given up: nothing runs that could be stopped. See why with './kappa status'."
        )


@dataclass(frozen=True)
class StopPlan(Serializable):
    """What stopping a job does: nothing when it is stopped already."""

    job: str
    version: int
    steps: tuple[StopStep, ...]
    why: str

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        steps = " -> ".join(self.steps) or "none"
        return [("job", self.job), ("version", f"v{self.version}"), ("why", self.why), ("steps", steps)]


def decide_stop(job: str, found: Found, open_launch: bool) -> StopPlan:
    """The plan of stopping a job's current version. Raises NothingDeployed, AlreadyOver."""
    current = found.current()
    if current is None:
        raise NothingDeployed(job)
    if current.state in OVER:
        raise AlreadyOver(job, current.version)
    if current.desired is Desired.STOPPED and not open_launch:
        return StopPlan(job, current.version, (), "it is stopped already")
    why = "its driver finishes the batch under way and ends; killed only if it does not"
    return StopPlan(job, current.version, tuple(StopStep), why)
