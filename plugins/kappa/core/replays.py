"""Replays and what comes of them: an attempt to serve windows from new versions, the hand-over, the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from kappa.core.job_catalog import Approval as Approval
from kappa.core.log.kafka_log import Offsets
from kappa.core.serialization import Serializable
from kappa.core.validation import Band, Parity
from kappa.core.versions import Segment


class Answer(StrEnum):
    """What became of the question whether to promote."""

    APPROVED = "approved"
    REJECTED = "rejected"
    TIMED_OUT = "timed out"


APPROVAL_REFUSED = "replay.approval_refused"
"""In the audit: an approval that did not count, with its evidence the sentence why."""


@dataclass(frozen=True)
class Replay(Serializable):
    """One attempt: `versions` are the candidates and `live` what served when it was planned, by job.

    `starts_ms` is T in epoch ms, None for candidates that start with the log. `answer` is an Answer, `outcome` a
    sentence; both, and `validation`, are None until known; so are `begun_at`, until it is staged, and `validated_at`,
    when the newest result of its validation was written.
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
    begun_at: datetime | None = field(default=None, compare=False)
    validated_at: datetime | None = field(default=None, compare=False)


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


def behind(job: str, version: int, live: Offsets, target: Offsets) -> list[Lag]:
    """Where a target's next offsets are short of the live ones."""
    missing = {partition: offset - target.get(partition, 0) for partition, offset in sorted(live.items())}
    return [Lag(job, version, partition, records) for partition, records in missing.items() if records > 0]


@dataclass(frozen=True)
class Weighed:
    """What a version's rows take (bytes); how many records a second its job was seen to read in its newest replays, or
    else with a full backlog before it (None: never, or slowed down by its settings); how long its newest candidates
    took from their launch to their first commit (None: not known); how much longer the first full batch of its newest
    candidates took than those after it; how long it took from their last large batch until they were called ready
    (None: not known); and how long its newest deployments took from their launch until they were ready (None: not
    known)."""

    rows_bytes: int
    replays_per_s: float | None
    start_s: float | None = None
    warming_s: float = 0.0
    settling_s: float | None = None
    deployment_s: float | None = None


START_SECONDS = 30.0
"""From the launch of a driver to its first committed batch, on two cores, where none was measured."""
CANDIDATE_START_SECONDS, DEPLOYMENTS_IN_A_START = 25.0, 2.0
"""From the launch of candidates to their first commits, for each that is launched at once, where none was measured: so
many seconds, or so many times what the job's deployment took, which had nothing to read (docs/decisions/0089)."""
ASSUMED_PER_SECOND = 7_000.0
"""Records a candidate reads a second where none was measured: half of what two jobs catching up at once were seen to
read on two cores, for the live ones read on beside them."""
SETTLING_SECONDS = 15.0
"""From the batch that reads the last of what waited to being called ready, where none was measured: some smaller ones
follow it, and several looks in a row have to agree (docs/decisions/0084)."""
TRUSTED_SECONDS = 10.0
"""So long a version has to read until its own speed counts for as much as the forecast."""


@dataclass(frozen=True)
class Forecast(Serializable):
    """How a version is expected to catch up, by what earlier ones did: the seconds from its launch to its first commit,
    the records that it reads a second from then on, the seconds that it loses to a JVM that is not warm yet, and those
    from its last large batch until it is called ready."""

    start_s: float
    per_s: float
    warming_s: float = 0.0
    settling_s: float = SETTLING_SECONDS


@dataclass(frozen=True)
class Course:
    """How far a version that catches up has come: seconds since its launch, records that wait, records a second that
    arrive meanwhile; then what its commits read after the first one and the seconds that they took, and the seconds
    since the newest (None: there is none yet)."""

    age_s: float
    unread: int
    arrivals_per_s: float = 0.0
    read: int = 0
    reading_s: float = 0.0
    idle_s: float | None = None


NOTHING_MEASURED = Forecast(START_SECONDS, ASSUMED_PER_SECOND)


def forecast(weighed: Weighed, most_per_s: float, launched_at_once: int = 1) -> Forecast:
    """What is expected of a version whose settings let it read so many records a second, one of so many that are
    launched at once."""
    one_s = max(CANDIDATE_START_SECONDS, DEPLOYMENTS_IN_A_START * (weighed.deployment_s or 0.0))
    start_s = launched_at_once * one_s if weighed.start_s is None else weighed.start_s
    settling_s = SETTLING_SECONDS if weighed.settling_s is None else weighed.settling_s
    per_s = min(weighed.replays_per_s or ASSUMED_PER_SECOND, most_per_s)
    return Forecast(start_s, per_s, weighed.warming_s, settling_s)


def time_left(expected: Forecast, course: Course) -> float | None:
    """Seconds until a version is ready: the rest of its start, what waits over the speed by which it comes nearer, and
    the looks that must agree. Its own speed counts for more the longer it reads, and the batch that it is in the midst
    of is taken to be under way since the newest commit.

    None: it comes no nearer, or should have been ready long before now.
    """
    if course.idle_s is not None and not course.unread:
        return expected.settling_s
    nearer = _speed(expected, course) - course.arrivals_per_s
    if nearer <= 0:
        return None
    starting = max(expected.start_s - course.age_s, 0.0) if course.idle_s is None else 0.0
    warming = 0.0 if course.reading_s else expected.warming_s
    reading, idle = warming + (course.unread + starting * course.arrivals_per_s) / nearer, course.idle_s or 0.0
    if idle > 2 * reading + expected.settling_s:
        return None
    return starting + max(reading - idle, 0.0) + expected.settling_s


def _speed(expected: Forecast, course: Course) -> float:
    """Records a second, warm: the forecast's, and the version's own by what it has read. Not more than half of its time
    counts as lost to its first batch."""
    warm_s = course.reading_s - min(expected.warming_s, course.reading_s / 2)
    return (course.read + TRUSTED_SECONDS * expected.per_s) / (warm_s + TRUSTED_SECONDS)


@dataclass(frozen=True)
class Freed:
    """What a retirement gave back: the bytes of the version's rows, 0 where they were gone already."""

    job: str
    version: int
    rows_bytes: int
