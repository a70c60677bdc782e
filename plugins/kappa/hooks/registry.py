"""The port to the registry: the values it holds and what may be asked of it; the registry decides what
exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from jobs.log import Offsets
from kappa.states import Desired, State

OPEN_END = "infinity"
BEGINNING = "-infinity"


@dataclass(frozen=True)
class Version:
    """A version of a job as the registry holds it. `settings` are all resolved settings of the job."""

    job: str
    version: int
    state: State
    desired: Desired
    artifact: str
    state_digest: str
    result_digest: str
    settings: Mapping[str, int]
    topic: str
    topic_id: str
    starts_at: datetime | None
    start_offsets: Offsets


@dataclass(frozen=True)
class Launch:
    """One intended start of a driver; open until `ended`. `claimed_by` is the submission whose driver runs
    it."""

    launch_id: UUID
    job: str
    version: int
    intended_at: datetime
    submission_id: str | None = None
    claimed_by: str | None = None
    ended: bool = False

    @property
    def driver(self) -> str | None:
        """The submission that holds the driver: the one that claimed the launch, else the one recorded."""
        return self.claimed_by or self.submission_id


@dataclass(frozen=True)
class Heartbeat:
    """The latest sign of life of a version's driver. `age_seconds` is by the database's clock."""

    epoch: int
    submission_id: str
    beat_at: datetime
    age_seconds: float
    committed_at: datetime | None


@dataclass(frozen=True)
class Segment:
    """Which version serves the windows from `from_window` up to `to_window`; as text, for they may be
    infinite."""

    job: str
    from_window: str
    to_window: str
    version: int

    def to_json(self) -> dict[str, Any]:
        """The segment as JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Author:
    """Who acts, in which run, and why."""

    actor: str
    run_id: str
    reason: str | None = None


@dataclass(frozen=True)
class Entry:
    """A row of the audit."""

    author: Author
    action: str
    job: str | None = None
    version: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Registry(Protocol):
    """The registry. Every act is one transaction, and doing it twice is the same as doing it once."""

    def versions(self, job: str) -> list[Version]:
        """All versions of a job, in order."""

    def segments(self, job: str) -> list[Segment]:
        """The segments of a job, in order."""

    def stage(self, version: Version, by: Author, evidence: Mapping[str, Any]) -> None:
        """Make the version, its fence, progress and rows' partition. Raises StagedByAnother."""

    def desire(self, job: str, version: int, desired: Desired) -> None:
        """Set the desired state."""

    def set_state(self, job: str, version: int, old: State, new: State) -> None:
        """Move the version from one state to the next, if it is still in the first."""

    def open_launch(self, job: str, version: int) -> Launch | None:
        """The launch that has not ended, if any."""

    def launch(self, launch_id: UUID) -> Launch:
        """A launch as it is now."""

    def intend_launch(self, job: str, version: int, launch_id: UUID) -> Launch:
        """Write the intent to start a driver; the open launch, which is another one where one was open
        already."""

    def record_submission(self, launch_id: UUID, submission_id: str) -> None:
        """Remember what the cluster called the submission of a launch."""

    def end_launch(self, launch_id: UUID) -> None:
        """Close a launch whose driver is gone."""

    def heartbeat(self, job: str, version: int) -> Heartbeat | None:
        """The latest heartbeat, if there ever was one."""

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

    def begin(self, verb: str, job: str, by: Author, lease_seconds: float) -> None:
        """Take the job for one run of a verb, until `finish` or the lease's end. Raises UnderWay."""

    def record(self, entry: Entry) -> None:
        """Add a row to the audit."""

    def entries(self, run_id: str) -> Sequence[Entry]:
        """The audit of one run, in order."""
