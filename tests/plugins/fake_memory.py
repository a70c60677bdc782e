"""What the parts of the fake registry share: a clock, the versions, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from kappa.core.audit import Author, Entry
from kappa.core.log.kafka_log import Offsets
from kappa.core.replays import Release
from kappa.core.versions import Heartbeat, Launch, Segment, Version
from kappa.registry.port import UnknownVersion
from kappa.registry.staging import STAGED

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
Key = tuple[str, int]


class FakeClock:
    """Time that passes only by sleeping; what happens meanwhile is in `meanwhile`."""

    def __init__(self) -> None:
        self.instant = NOON
        self.meanwhile: list[Callable[[], None]] = []

    def now(self) -> datetime:
        return self.instant

    def monotonic(self) -> float:
        return (self.instant - NOON).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.instant += timedelta(seconds=seconds)
        for happen in list(self.meanwhile):
            happen()


@dataclass
class Memory:
    """The rows that more than one part of the registry reads; `updated` is when a version's row was last written,
    `next_offsets` how far its driver read, `ends` what that knew of the log."""

    clock: FakeClock = field(default_factory=FakeClock)
    held: dict[Key, Version] = field(default_factory=dict)
    updated: dict[Key, datetime] = field(default_factory=dict)
    served: dict[str, list[Segment]] = field(default_factory=dict)
    beats: dict[Key, Heartbeat] = field(default_factory=dict)
    lines: dict[Key, list[str]] = field(default_factory=dict)
    audit: list[tuple[datetime, Entry]] = field(default_factory=list)
    epochs: dict[Key, int] = field(default_factory=dict)
    next_offsets: dict[Key, Offsets] = field(default_factory=dict)
    ends: dict[Key, Offsets] = field(default_factory=dict)
    launches: dict[UUID, Launch] = field(default_factory=dict)
    released: list[Release] = field(default_factory=list)

    def open_launch(self, job: str, version: int) -> Launch | None:
        fitting = (one for one in self.launches.values() if (one.job, one.version) == (job, version))
        return next((one for one in fitting if not one.ended), None)

    def record(self, entry: Entry) -> None:
        self.audit.append((self.clock.now(), entry))

    def entries(self, run_id: str) -> Sequence[Entry]:
        return [entry for _, entry in self.audit if entry.author.run_id == run_id]

    def make(self, version: Version, by: Author, action: str, evidence: Mapping[str, Any]) -> bool:
        """Make a version, unless it exists; whether it was made."""
        key = (version.job, version.version)
        if key in self.held:
            return False
        self.held[key], self.epochs[key] = replace(version, generation=1), 0
        self.updated[key], self.next_offsets[key] = self.clock.now(), dict(version.start_offsets)
        self.record(Entry(by, action, *key, evidence))
        return True

    def stager(self, job: str, version: int) -> str:
        """The run that made a version, by the audit."""
        made = (e for _, e in self.audit if (e.action, e.job, e.version) in {(a, job, version) for a in STAGED})
        return next((entry.author.run_id for entry in made), "(unknown)")

    def known(self, job: str, version: int) -> Version:
        """The version. Raises UnknownVersion."""
        if (job, version) not in self.held:
            raise UnknownVersion(job, version)
        return self.held[job, version]

    def alter(self, job: str, version: int, **values: Any) -> None:
        """Write values into a version's row; one that holds them already stays as it is."""
        altered = replace(self.held[job, version], **values)
        if altered != self.held[job, version]:
            self.held[job, version], self.updated[job, version] = altered, self.clock.now()

    def seconds_since(self, moment: datetime | None) -> float | None:
        """Seconds since a moment, if there was one."""
        return (self.clock.now() - moment).total_seconds() if moment else None
