"""The port to the registry: what may be asked of it, and what it refuses; the registry decides what exists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from kappa.core.audit import Author, Entry
from kappa.core.changes import Attempt, Change, Mark, Phase
from kappa.core.checkpoint.reader import Planned
from kappa.core.refusals import Refusal
from kappa.core.versions import Desired, Health, Heartbeat, Launch, Lease, Segment, State, Version
from kappa.registry.bookkeeping_port import Bookkeeping

Check = Callable[[], None]
"""Raises what speaks against an act, while no other version of any job is staged or comes to serve."""


def passes() -> None:
    """Nothing speaks against it."""


class StagedByAnother(Refusal):
    """Two deployments of a job made the same version at once."""

    def __init__(self, job: str, version: int, run_id: str) -> None:
        super().__init__(
            f"{job} v{version} was just staged by run {run_id}; this run changed nothing. "
            f"Follow that run, or try again when it has ended."
        )


class UnderWay(Refusal):
    """Another run holds the version."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(
            f"{lease.sentence()}; this run changed nothing. Follow that run, or try again when it has ended."
        )


class Unsettled(Refusal):
    """An earlier run left a change of the version half done."""

    def __init__(self, change: Change) -> None:
        super().__init__(
            f"{change.name} has an unfinished {change.verb} of run {change.run_id} (phase {change.phase}); this run "
            f"changed nothing. Settle it first: ./kappa repair {change.job}."
        )


class ServedByAnother(Refusal):
    """A job's windows are served by another version already, so this is no first deployment."""

    def __init__(self, job: str, version: int, serving: int) -> None:
        super().__init__(
            f"{job} is served by v{serving} already, v{version} does not go live by a deployment; "
            "nothing was changed. "
            f"Promote it once it has been validated."
        )


class UnknownVersion(Refusal):
    """The registry holds no such version."""

    def __init__(self, job: str, version: int) -> None:
        super().__init__(
            f"there is no {job} v{version} in the registry; nothing was changed. Look with './kappa status'."
        )


class Registry(Bookkeeping, Protocol):
    """The registry. Every act is one transaction, and doing it twice is the same as doing it once."""

    def versions(self, job: str) -> list[Version]:
        """All versions of a job, in order."""

    def segments(self, job: str) -> list[Segment]:
        """The segments of a job, in order."""

    def stage(self, version: Version, by: Author, evidence: Mapping[str, Any], check: Check = passes) -> None:
        """Make the version, its fence, progress and rows' partition. Meanwhile no other version of any job is made or
        comes to serve; `check` is called first, and what it raises ends it. Raises StagedByAnother."""

    def desire(self, job: str, version: int, desired: Desired) -> None:
        """Set the desired state."""

    def set_state(self, job: str, version: int, old: State, new: State) -> None:
        """Move the version from one state to the next, if it is still in the first."""

    def revive(self, job: str, version: int) -> State:
        """Let a FAILED version that serves the live end be LIVE; the state that the version has then. Its red lines
        stay. Raises UnknownVersion."""

    def revive_previous(self, job: str, version: int) -> State:
        """Let a FAILED version that a release took the live end from, and that does not serve it, be PREVIOUS; the
        state that the version has then. Its red lines stay. Raises UnknownVersion."""

    def open_launch(self, job: str, version: int) -> Launch | None:
        """The launch that has not ended, if any."""

    def launch(self, launch_id: UUID) -> Launch:
        """A launch as it is now."""

    def intend_launch(self, job: str, version: int, launch_id: UUID) -> Launch:
        """Write the intent to start a driver; the open launch, which is another one where one was open
        already."""

    def record_submission(self, launch_id: UUID, submission_id: str) -> None:
        """Remember what the cluster called the submission of a launch."""

    def record_standby(self, launch_id: UUID, submission_id: str) -> None:
        """Remember what the cluster called the driver that is to stand by for the one of a launch."""

    def end_launch(self, launch_id: UUID) -> None:
        """Close a launch whose driver is gone."""

    def heartbeat(self, job: str, version: int) -> Heartbeat | None:
        """The latest heartbeat, if there ever was one."""

    def submissions(self) -> Mapping[str, tuple[str, int]]:
        """The version, as (job, version), of each submission that a launch was given to or that claimed one."""

    def drained_since(self, job: str, version: int, since: datetime) -> bool:
        """Whether every partition was seen to hold nothing unread at some time after `since`."""

    def red_lines(self, job: str, version: int) -> list[str]:
        """What is wrong with a version, in words."""

    def clear_red_lines(self, job: str, version: int) -> None:
        """Forget what was wrong, before a new try."""

    def raise_epoch(self, job: str, version: int) -> int:
        """Shut out every driver that is running: none that started before may write again. The new epoch."""

    def go_live(self, job: str, version: int, by: Author) -> bool:
        """First deployment: all windows to this version, a release, state LIVE. Whether anything changed.

        Raises ServedByAnother.
        """

    def lease(self, job: str, version: int) -> Lease | None:
        """Who holds the version; None when nobody does or the lease's time is over."""

    def take_lease(
        self, verb: str, job: str, version: int, by: Author, seconds: float, over: str | None = None
    ) -> Lease:
        """Hold the version for one run of a verb; the same run asking again gets its lease, with a new end.

        `over` names a run that is known to have ended: its lease is taken over, and the audit says so
        (`lease.taken_over`), as it does for one whose time is over. Raises UnderWay.
        """

    def release_leases(self, by: Author) -> None:
        """Give back every lease of the run."""

    def open_change(self, job: str, version: int) -> Change | None:
        """The change that has not ended, if any."""

    def change(self, change_id: UUID) -> Change:
        """A change as it is now."""

    def begin_change(self, change: Change) -> Change:
        """Write down the intent to change a version; the change as it is where this run has written it already, or the
        run's open one.

        Raises Unsettled, UnknownVersion.
        """

    def next_generation(self, job: str, version: int) -> int:
        """A number that no checkpoint of the version has had, finished or not."""

    def folder(self, job: str, version: int, generation: int) -> str:
        """The folder of a generation of the version's checkpoint, below the version's own."""

    def hold(self, change_id: UUID) -> None:
        """Phase HELD: the version is wanted stopped until the change has ended, whatever its operator wants."""

    def switch(self, change_id: UUID) -> None:
        """Phase SWITCHED: the version is what the change makes of it and what its operator wants of it counts again."""

    def end_change(self, change_id: UUID, phase: Phase) -> None:
        """End the change: DONE; or UNDONE, which gives the version back what it ran as, and a failed one that serves
        the live end its state LIVE.

        What the operator wants of the version counts again. A change that has ended stays as it ended.
        """

    def mark(self, change_id: UUID, mark: Mark) -> None:
        """Keep the time of a moment of a change; the first time counts."""

    def begin_attempt(self, change_id: UUID, program: str, attempt_id: UUID) -> None:
        """Write the intent to run a finite program of a change; the attempt before it can leave no outcome any more."""

    def record_attempt(self, attempt_id: UUID, submission_id: str) -> None:
        """Remember what the cluster called the submission of an attempt."""

    def attempt(self, change_id: UUID, program: str) -> Attempt | None:
        """The newest attempt at a finite program of a change."""

    def has_batches(self, job: str, version: int, generation: int) -> bool:
        """Whether a batch was committed from that generation of the checkpoint."""

    def newest_batches(self, job: str, version: int, generation: int) -> Mapping[int, Planned]:
        """End and watermark of the two newest batches that were committed from that generation, by id."""

    def checkpoint_is_free(self, job: str, version: int) -> bool:
        """Whether no finite Spark work holds the version's checkpoints."""

    def health(self, job: str, version: int) -> Health:
        """How a version does. Repairs are audit rows `repair.restarted` of the last hour."""

    def give_up(self, job: str, version: int, why: str) -> None:
        """State FAILED and a red line `failed` that says why."""

    def now(self) -> datetime:
        """The database's time, by which every time of the registry was taken."""

    def record(self, entry: Entry) -> None:
        """Add a row to the audit."""

    def entries(self, run_id: str) -> Sequence[Entry]:
        """The audit of one run, in order."""
