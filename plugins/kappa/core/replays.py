"""Replays and what comes of them: an attempt to serve windows from new versions, the hand-over, the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from kappa.core.job_catalog import Approval as Approval
from kappa.core.kafka_log import Offsets
from kappa.core.serialization import Serializable
from kappa.core.validation import Band, Parity
from kappa.core.versions import Segment


class Answer(StrEnum):
    """What became of the question whether to promote."""

    APPROVED = "approved"
    REJECTED = "rejected"
    TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Replay(Serializable):
    """One attempt: `versions` are the candidates and `live` what served when it was planned, by job.

    `starts_ms` is T in epoch ms, None for candidates that start with the log. `answer` is an Answer, `outcome` a
    sentence; both, and `validation`, are None until known.
    """

    replay_id: UUID
    run_id: str
    versions: Mapping[str, int]
    live: Mapping[str, int]
    starts_ms: int | None
    parity: Parity
    bands: tuple[Band, ...]
    approval: Approval
    promote: bool
    asked_by: str
    reason: str | None
    price: Mapping[str, Any] = field(default_factory=dict)
    validation: Mapping[str, Any] | None = None
    answer: str | None = None
    answered_by: str | None = None
    outcome: str | None = None
    ended: bool = False


def approver(replay: Replay | None, first: bool, promoted_by: str) -> str | None:
    """Who agreed to a release of a replay's candidates, `first` where these serve for the first time: who answered yes;
    without an answer, who promoted by hand, for that is one. None where nobody had to agree."""
    if replay is None or not first:
        return None
    if replay.answer == Answer.APPROVED:
        return replay.answered_by
    return promoted_by if replay.approval is Approval.ASK else None


@dataclass(frozen=True)
class HandOver(Serializable):
    """Segments to be moved, for all jobs at once: `before` is what the plan saw, `after` what shall be.

    `olds` serve the live end now and `targets` shall, by job; `from_window` is the first window that moves.
    """

    jobs: tuple[str, ...]
    before: tuple[Segment, ...]
    after: tuple[Segment, ...]
    targets: Mapping[str, int]
    olds: Mapping[str, int]
    from_window: str


@dataclass(frozen=True)
class Release:
    """A hand-over that was made; offsets are the next ones by job and partition, of the old and of the new version."""

    release_id: int
    jobs: tuple[str, ...]
    before: tuple[Segment, ...]
    after: tuple[Segment, ...]
    offsets_before: Mapping[str, Offsets]
    offsets_after: Mapping[str, Offsets]
    promoted_at: datetime
    promoted_by: str
    approved_by: str | None
    evidence: Mapping[str, Any]


@dataclass(frozen=True)
class Standing:
    """How far a version is: what it committed, what its driver last knew of the log, what is final.

    `end_offsets` has no entry for a partition whose end was never asked for; `read` counts records from its start on.
    """

    next_offsets: Offsets
    end_offsets: Offsets
    complete_through: datetime | None
    newest_event_time: datetime | None
    lag_events: int
    lag_seconds: float
    read: int
    committed_at: datetime | None


@dataclass(frozen=True)
class Lag:
    """How many records a target's partition is behind the live version it is to follow."""

    job: str
    version: int
    partition: int
    records: int

    def __str__(self) -> str:
        return f"{self.job} v{self.version} partition {self.partition} by {self.records} records"


def ahead(seconds: float | None) -> float | None:
    """A time left, in seconds; what is past, or not known, tells nothing of the end."""
    return seconds if seconds is not None and seconds > 0 else None


def behind(job: str, version: int, live: Offsets, target: Offsets) -> list[Lag]:
    """Where a target's next offsets are short of the live ones."""
    missing = {partition: offset - target.get(partition, 0) for partition, offset in sorted(live.items())}
    return [Lag(job, version, partition, records) for partition, records in missing.items() if records > 0]


@dataclass(frozen=True)
class Weighed:
    """What a version's rows take (bytes); how many records a second its job was seen to read in its newest replays, or
    else with a full backlog before it (None: never, or slowed down by its settings); and how long the newest versions
    took from their launch to their first commit (None: not known)."""

    rows_bytes: int
    replays_per_s: float | None
    start_s: float | None = None


@dataclass(frozen=True)
class Freed:
    """What a retirement gave back: the bytes of the version's rows, 0 where they were gone already."""

    job: str
    version: int
    rows_bytes: int
