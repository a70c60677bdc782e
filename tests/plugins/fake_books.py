"""The books of the fake registry that grow with time: batches, hours of them, refused records."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile

from kappa.core.versions import State
from kappa.registry.bookkeeping_port import BatchesTorn, OldBatches, OldRefusals
from tests.plugins.fake_health import FakeHealth
from tests.plugins.fake_memory import Key


@dataclass(frozen=True)
class FakeBatch:
    """A batch that read from the one before it on, or, `torn`, from elsewhere."""

    batch_id: int
    read: int
    committed_at: datetime
    torn: bool = False


@dataclass
class FakeBooks(FakeHealth):
    """The books in memory: `committed` holds the batches by generation, `hours` (first, last, records read) of those
    that were folded, `totals` the records read; `refused` the time of each refused record by version, partition and
    offset, `kept_from` the offsets before which they are not kept."""

    committed: dict[tuple[str, int, int], list[FakeBatch]] = field(default_factory=dict)
    hours: dict[tuple[str, int, int], list[tuple[int, int, int]]] = field(default_factory=dict)
    totals: dict[Key, int] = field(default_factory=dict)
    refused: dict[tuple[int, int], dict[int, datetime]] = field(default_factory=dict)
    kept_from: dict[tuple[int, int], int] = field(default_factory=dict)

    def book(self, generation: tuple[str, int, int], batch: FakeBatch) -> None:
        """A batch is committed."""
        job, version, _ = generation
        self.batches.add(generation)
        self.committed.setdefault(generation, []).append(batch)
        self.totals[job, version] = self.totals.get((job, version), 0) + batch.read

    def old_batches(self, keep: timedelta, newest: int) -> list[OldBatches]:
        since = (self.clock.now() - keep).replace(minute=0, second=0, microsecond=0)
        found = []
        for key, held in sorted(self.committed.items()):
            retired = self.held[key[:2]].state is State.RETIRED
            spare = held if retired else held[: max(len(held) - newest, 0)]
            young = next((at for at, batch in enumerate(spare) if batch.committed_at >= since), len(spare))
            if old := spare[:young]:
                found.append(OldBatches(*key, old[0].batch_id, old[-1].batch_id, len(old)))
        return found

    def fold(self, old: OldBatches) -> int:
        folded = 0
        while done := self._fold_an_hour(old):
            folded += done
        return folded

    def _fold_an_hour(self, old: OldBatches) -> int:
        held = self.committed[key := (old.job, old.version, old.generation)]
        due = [batch for batch in held if batch.batch_id <= old.last]
        run = list(takewhile(lambda batch: _hour(batch) == _hour(due[0]), due))
        for torn in (batch for batch in run if batch.torn):
            raise BatchesTorn(old.name, torn.batch_id)
        if run:
            self.hours.setdefault(key, []).append((run[0].batch_id, run[-1].batch_id, sum(b.read for b in run)))
            self.committed[key] = held[len(run) :]
        return len(run)

    def misbooked(self) -> list[str]:
        sums: dict[Key, int] = {}
        for (job, version, _), held in self.committed.items():
            sums[job, version] = sums.get((job, version), 0) + sum(batch.read for batch in held)
        for (job, version, _), hours in self.hours.items():
            sums[job, version] = sums.get((job, version), 0) + sum(read for _, _, read in hours)
        wrong = {key for key in sums.keys() | self.totals.keys() if sums.get(key) != self.totals.get(key)}
        return sorted(f"{job} v{version}" for job, version in wrong)

    def old_refusals(self, keep: timedelta) -> list[OldRefusals]:
        found = []
        for (version, partition), held in sorted(self.refused.items()):
            young = [offset for offset, at in held.items() if at >= self.clock.now() - keep]
            before = min(young, default=max(held, default=-1) + 1)
            if records := sum(offset < before for offset in held):
                found.append(OldRefusals(version, partition, before, records))
        return found

    def forget(self, old: OldRefusals) -> int:
        key = (old.version, old.partition)
        self.kept_from[key] = max(self.kept_from.get(key, 0), old.before)
        gone = [offset for offset in self.refused[key] if offset < old.before]
        for offset in gone:
            del self.refused[key][offset]
        return len(gone)


def _hour(batch: FakeBatch) -> datetime:
    return batch.committed_at.replace(minute=0, second=0, microsecond=0)
