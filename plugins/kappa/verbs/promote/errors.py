"""The refusals of a promotion and of a roll-back, one per cause; all of them before anything moves."""

from __future__ import annotations

from kappa.core.refusals import Refusal
from kappa.core.versions import State


class LiveHasChanged(Refusal):
    """The candidate was compared with a version that no longer serves."""

    def __init__(self, job: str, candidate: int, planned: int, serves: int) -> None:
        super().__init__(
            f"{job} v{candidate} was planned and validated against v{planned}, and v{serves} serves now: it may "
            f"replace only what it was compared with. Nothing was changed, v{serves} serves on. Replay again, or "
            f"roll back first if v{planned} is to serve: ./kappa rollback {job}."
        )


class CandidateNotCaughtUp(Refusal):
    """The version is not one that may take the live end."""

    def __init__(self, job: str, version: int, state: State) -> None:
        super().__init__(
            f"{job} v{version} is {state}: only a version that has caught up, or served before, may serve. Nothing "
            f"was changed. Wait until its replay is ready, or replay again if it is over: ./kappa reprocess {job}."
        )


class NothingToRollBackTo(Refusal):
    """No version served the job before."""

    def __init__(self, job: str, first: int | None) -> None:
        why = f"release {first} was its first" if first is not None else "it has no release that stands"
        super().__init__(
            f"{job} has nothing to roll back to: {why}. Nothing was changed, what serves serves on. For other numbers "
            f"replay the log into a new version: ./kappa reprocess {job}."
        )


class NotReleasedTogether(Refusal):
    """The jobs are not exactly those of one release, which goes back as a whole or not at all."""

    def __init__(self, jobs: tuple[str, ...], release_id: int, released: tuple[str, ...]) -> None:
        super().__init__(
            f"a release goes back as a whole, for its jobs' numbers were validated together: the newest one is "
            f"release {release_id} of {', '.join(released)}, and {', '.join(jobs)} was asked for. Nothing was "
            f"changed. Give exactly its jobs: ./kappa rollback {' '.join(released)}."
        )


class PreviousRetired(Refusal):
    """The version that would serve has neither rows nor state any more."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"{job} v{version}, which would serve again, is RETIRED: its rows and its state are gone. Nothing was "
            f"changed. Replay the log with its code instead (./kappa reprocess {job} --artifact D); next time keep "
            f"a version by './kappa pin'."
        )


class SegmentsOfNoRelease(Refusal):
    """What serves is not what the release wrote, so undoing the release would lose what came after it."""

    def __init__(self, jobs: tuple[str, ...], release_id: int, served: str) -> None:
        super().__init__(
            f"a roll-back undoes what its release wrote, and {', '.join(jobs)} is served by {served}, which release "
            f"{release_id} did not write. Nothing was changed. Look with './kappa releases' and './kappa audit', "
            f"and promote the version that is to serve: ./kappa promote {' '.join(jobs)}."
        )
