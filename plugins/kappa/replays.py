"""The values of a replay into new versions: what was asked, what may differ, how it stands and what was released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from jobs.catalog import Approval
from jobs.log import Offsets
from kappa.hooks.registry import Segment

__all__ = ["Approval", "Band", "Parity", "Release", "Replay", "Standing"]


class Parity(StrEnum):
    """What the candidate's rows must be to the live ones: equal, equal but for bands, or only compared."""

    EXACT = "exact"
    DECLARED = "declared"
    REPORT = "report"


@dataclass(frozen=True)
class Band:
    """Which measure may differ under declared parity, in which direction, and by how much: thousandths of the live
    value, None for any amount."""

    column: str
    direction: Literal["up", "down", "any"]
    most_permille: int | None = None


@dataclass(frozen=True)
class Replay:
    """One attempt to replace versions by candidates that read the log again, together.

    `versions` are the candidates and `live` the versions that served when it was planned, by job; `starts_ms` is T,
    None for a replay that starts with the log. `answer` is approved, rejected or timed out.
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
    price: Mapping[str, Any]
    validation: Mapping[str, Any] | None = None
    answer: str | None = None
    answered_by: str | None = None
    outcome: str | None = None
    ended: bool = False


@dataclass(frozen=True)
class Release:
    """One change of what serves: the segments of its jobs before and after, and the next offsets of the versions
    that served, per job and partition, before and after."""

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
    """How far a version has come: offsets committed and seen, what is complete, what is unread, records read so
    far."""

    next_offsets: Offsets
    end_offsets: Offsets
    complete_through: datetime | None
    newest_event_time: datetime | None
    lag_events: int
    lag_seconds: float
    read: int
    committed_at: datetime | None
