"""What the database shows of a job at one moment, and the port by which it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Protocol

from oracle.days import Client
from oracle.fates import Kept, Reading, Rules


@dataclass(frozen=True)
class ServedRow:
    """A row of a minute view; `ctr` as the database writes it, None for null."""

    impressions: int
    clicks: int
    spend_micros: int
    duplicates: int
    repeated_clicks: int
    ctr: Decimal | None
    is_final: bool


@dataclass(frozen=True)
class ServedDay:
    """A row of serving.client_spend_day."""

    time_zone: str
    currency: str | None
    budget_micros: int | None
    impressions: int
    clicks: int
    spend_micros: int
    finality: str


@dataclass(frozen=True)
class Segment:
    """The windows that one version serves: from (ms), to (ms, excluded); None: without such an end."""

    from_ms: int | None
    to_ms: int | None
    version: int

    def holds(self, minute: int) -> bool:
        """Whether the window that starts then is one of them."""
        return (self.from_ms is None or self.from_ms <= minute) and (self.to_ms is None or minute < self.to_ms)


@dataclass(frozen=True)
class Told:
    """How far a partition has been read, as the registry has it (ms, None: unknown): the newest append_time that was
    read, and the last time at which nothing was unread."""

    read_ms: int | None
    drained_ms: int | None


@dataclass(frozen=True)
class ServingVersion:
    """A version that a segment names: its rules, offsets (partition -> next), reach by partition, and accounting.

    `kept_from`: partition -> the offset before which the records that it refused are no longer kept, if any.
    """

    version: int
    topic: str
    rules: Rules
    start: Mapping[int, int]
    end: Mapping[int, int]
    told: Mapping[int, Told]
    records: Mapping[str, int]
    micros: Mapping[str, int]
    kept_from: Mapping[int, int] = field(default_factory=dict)

    @property
    def reading(self) -> Reading:
        """What it read and by which rules."""
        return Reading(self.rules, tuple(sorted(self.start.items())), tuple(sorted(self.end.items())), self.topic)


@dataclass(frozen=True)
class Served:
    """A job: its segments in order, the versions that they name, and what it serves.

    `complete_through`: what serving.freshness says (ms). `minutes`: (values of `keys`..., minute start in ms) -> row.
    `days`: (client_id, date) -> day. `quarantine`: (partition, offset) -> row. Which of these there are depends on the
    job; None: it serves no such thing.
    """

    job: str
    segments: tuple[Segment, ...]
    versions: Mapping[int, ServingVersion]
    complete_through: int | None = None
    keys: tuple[str, ...] = ()
    minutes: dict[tuple[object, ...], ServedRow] | None = None
    days: dict[tuple[str, date], ServedDay] | None = None
    quarantine: dict[tuple[int, int], Kept] | None = None

    @property
    def live(self) -> ServingVersion:
        """The version that serves the open end."""
        return self.versions[self.segments[-1].version]


@dataclass(frozen=True)
class Snapshot:
    """All jobs that are served and the clients, as of one moment; `at_ms`: the database's time then."""

    jobs: tuple[Served, ...]
    clients: tuple[Client, ...] = field(default=())
    at_ms: int = 0


class Database(Protocol):
    """Where the served numbers are."""

    def progress(self) -> dict[str, dict[int, int]]:
        """job -> partition -> next offset that its live version has committed."""

    def snapshot(self, jobs: frozenset[str] | None) -> Snapshot:
        """What is served of these jobs, or of all, in one transaction."""
