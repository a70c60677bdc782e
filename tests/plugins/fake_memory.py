"""What the parts of the fake registry share: a clock, the versions, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from kappa.hooks.conflicts import UnknownVersion
from kappa.hooks.registry import Entry, Heartbeat, Segment, Version

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
Key = tuple[str, int]


class FakeClock:
    """Time that passes only by sleeping; what happens meanwhile is in `meanwhile`."""

    def __init__(self) -> None:
        self.instant = NOON
        self.meanwhile: list[Callable[[], None]] = []

    def now(self) -> datetime:
        return self.instant

    def sleep(self, seconds: float) -> None:
        self.instant += timedelta(seconds=seconds)
        for happen in list(self.meanwhile):
            happen()


@dataclass
class Memory:
    """The rows that more than one part of the registry reads; `updated` is when a version's row was last written."""

    clock: FakeClock = field(default_factory=FakeClock)
    held: dict[Key, Version] = field(default_factory=dict)
    updated: dict[Key, datetime] = field(default_factory=dict)
    served: dict[str, list[Segment]] = field(default_factory=dict)
    beats: dict[Key, Heartbeat] = field(default_factory=dict)
    lines: dict[Key, list[str]] = field(default_factory=dict)
    audit: list[tuple[datetime, Entry]] = field(default_factory=list)

    def record(self, entry: Entry) -> None:
        self.audit.append((self.clock.now(), entry))

    def entries(self, run_id: str) -> Sequence[Entry]:
        return [entry for _, entry in self.audit if entry.author.run_id == run_id]

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
