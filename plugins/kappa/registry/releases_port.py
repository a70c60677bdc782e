"""The port to replays and releases: candidates staged together, how far they are, the hand-over, pins, retirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from kappa.core.audit import Author
from kappa.core.refusals import Refusal
from kappa.core.replays import Answer, Freed, HandOver, Lag, Release, Replay, Standing, Weighed
from kappa.core.versions import Segment, State, Version
from kappa.registry.port import Check, passes


class UnknownReplay(Refusal):
    """No replay has that id."""

    def __init__(self, replay_id: UUID) -> None:
        super().__init__(f"there is no replay {replay_id}; nothing was changed. Look with './kappa status'.")


class SegmentsChanged(Refusal):
    """Somebody else moved the segments since the plan was made."""

    def __init__(self, plan: HandOver, found: Sequence[Segment]) -> None:
        super().__init__(
            f"{_names(plan)}: the segments changed since this was planned (then {_listed(plan.before)}; now "
            f"{_listed(found)}); nothing was moved. Look with './kappa releases', then plan again."
        )


class BrokenSegments(Refusal):
    """The new segments of a job would leave a gap or overlap."""

    def __init__(self, job: str, problem: str) -> None:
        super().__init__(
            f"{job}: the new segments {problem}; they must cover all windows once. Nothing was moved. Plan again."
        )


class NotFit(Refusal):
    """A version that is to serve is in no state to."""

    def __init__(self, job: str, version: int, state: State) -> None:
        super().__init__(
            f"{job} v{version} is {state}; only a version that is CAUGHT_UP or PREVIOUS can take over. Nothing was "
            f"moved. Look at it with './kappa status'."
        )


class NotCaughtUp(Refusal):
    """The versions that are to serve did not reach the live ones in time."""

    def __init__(self, lags: Sequence[Lag], seconds: float) -> None:
        behind = ", ".join(map(str, lags))
        super().__init__(
            f"not caught up within {seconds:g} s: {behind} behind live; nothing was moved and the live drivers go on. "
            f"Try again when it has caught up ('./kappa status' shows the lag), or give it more cores."
        )


class HeldUp(Refusal):
    """What a hand-over must hold was not to be had in time."""

    def __init__(self, plan: HandOver, seconds: float) -> None:
        super().__init__(
            f"{_names(plan)}: another hand-over, or a batch of the live version that does not end, was in the way for "
            f"{seconds:g} s; nothing was moved. Try again; if it stays so, look at that driver with './kappa status'."
        )


class AlreadyRetired(Refusal):
    """A retired version has nothing left to protect."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(f"{job} v{version} is RETIRED and its rows are gone; nothing was pinned. Replay it instead.")


class StillServes(Refusal):
    """A segment names the version."""

    def __init__(self, segment: Segment) -> None:
        span = f"{segment.from_window} to {segment.to_window}"
        super().__init__(
            f"{segment.job} v{segment.version} serves the windows from {span}, so it is not retired; nothing was "
            f"changed. Promote another version for them first."
        )


class Pinned(Refusal):
    """The version is pinned."""

    def __init__(self, job: str, version: int, pinned_by: str) -> None:
        super().__init__(
            f"{job} v{version} was pinned by {pinned_by}, so it is not retired; nothing was changed. Take the pin away "
            f"first: ./kappa pin {job} {version} --remove."
        )


class RowsInUse(Refusal):
    """Somebody reads the rows of a retired version for longer than the retirement waits."""

    def __init__(self, job: str, version: int, seconds: float) -> None:
        super().__init__(
            f"{job} v{version} is RETIRED, but its rows could not be dropped: a transaction has used their table, or "
            f"another retirement has, for {seconds:g} s. No reader was made to wait. "
            f"Run it again: ./kappa retire {job} {version}."
        )


class Releases(Protocol):
    """Replays and releases. Every act is one transaction but `retire`, and doing it twice is the same as once."""

    def stage_candidates(self, versions: Sequence[Version], replay: Replay, by: Author) -> Replay:
        """Make the candidates and the replay; what the same run made before, if it did. Raises StagedByAnother."""

    def replay(self, replay_id: UUID) -> Replay:
        """A replay as it is now. Raises UnknownReplay."""

    def replay_of_run(self, run_id: str) -> Replay | None:
        """The replay that a run made, if it made one."""

    def replay_of_versions(self, versions: Mapping[str, int]) -> Replay | None:
        """The newest replay whose candidates these versions (by job) were, if there was one."""

    def replay_ended_at(self, job: str, version: int) -> datetime | None:
        """When the newest replay ended whose candidate the version was; None while it is open, or without one."""

    def open_replays(self) -> list[Replay]:
        """The replays that have not ended, the oldest first."""

    def note_validation(self, replay_id: UUID, result: Mapping[str, Any]) -> Replay:
        """Keep the newest result of the validation, unless the replay has been answered or has ended; the replay."""

    def note_answer(self, replay_id: UUID, answer: Answer, by: Author) -> Replay:
        """Keep who answered what; the first answer counts, none after the end. The replay as it is now."""

    def end_replay(self, replay_id: UUID, outcome: str) -> Replay:
        """End the replay; the first outcome counts. The replay as it is now."""

    def standing(self, job: str, version: int) -> Standing:
        """How far a version is, by what it committed. Raises UnknownVersion."""

    def weighed(self, job: str, version: int) -> Weighed:
        """What a version weighs and how fast its job was seen to read. Raises UnknownVersion."""

    def hand_over(self, plan: HandOver, by: Author, seconds: float = 15.0, check: Check = passes) -> Release:
        """Move the segments once the targets have read what the live versions have; the run's release if it did so.

        Meanwhile no other version of any job is staged by a deployment or comes to serve; `check` is called first, and
        what it raises ends it.

        Raises SegmentsChanged, NotCaughtUp, HeldUp, NotFit, BrokenSegments: nothing was moved then.
        """

    def releases(self, job: str | None = None) -> list[Release]:
        """The releases, of one job or of all, the oldest first."""

    def previous_since(self, job: str, version: int) -> datetime | None:
        """When a version that is PREVIOUS became so; None for any other."""

    def failed_since(self, job: str, version: int) -> datetime | None:
        """When a version that is FAILED became so, or was replaced as the one at the live end, whichever was later;
        None for any other."""

    def pin(self, job: str, version: int, by: Author) -> None:
        """Keep a version from being retired. Raises UnknownVersion, AlreadyRetired."""

    def unpin(self, job: str, version: int, by: Author) -> None:
        """Take the pin away, if there is one."""

    def pins(self) -> set[tuple[str, int]]:
        """The pinned versions, as (job, version)."""

    def retire(self, job: str, version: int, by: Author) -> Freed:
        """State RETIRED, then the rows go without a reader waiting; what was freed.

        Raises UnknownVersion, StillServes, Pinned, IllegalTransition: nothing was changed then; RowsInUse: to be
        called again.
        """

    def unfreed(self) -> set[tuple[str, int]]:
        """Versions that are RETIRED and still have their rows, as (job, version): their retirement was cut short."""


def _names(plan: HandOver) -> str:
    return " and ".join(f"{job} v{plan.targets[job]}" for job in plan.jobs)


def _listed(segments: Sequence[Segment]) -> str:
    return ", ".join(f"{s.job} v{s.version} from {s.from_window}" for s in segments) or "none"
