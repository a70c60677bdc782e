"""The leases of the fake registry."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

from kappa.core.audit import Author, Entry
from kappa.core.versions import Lease
from kappa.registry.port import UnderWay
from tests.plugins.fake_memory import Key, Memory


@dataclass
class FakeLeases(Memory):
    """Which run may act on a version, in memory."""

    leases: dict[Key, Lease] = field(default_factory=dict)

    def lease(self, job: str, version: int) -> Lease | None:
        held = self.leases.get((job, version))
        return held if held and held.ends_at > self.clock.now() else None

    def take_lease(
        self, verb: str, job: str, version: int, by: Author, seconds: float, over: str | None = None
    ) -> Lease:
        held, now = self.leases.get((job, version)), self.clock.now()
        ends_at = now + timedelta(seconds=seconds)
        if held and held.run_id == by.run_id:
            taken = replace(held, ends_at=ends_at)
        else:
            if held and held.ends_at > now and held.run_id != over:
                raise UnderWay(held)
            if held:
                self.record(Entry(by, "lease.taken_over", job, version, {"from": _predecessor(held)}))
            self.record(Entry(by, f"{verb}.begun", job, version, {"lease_seconds": seconds}))
            taken = Lease(job, version, by.run_id, verb, by.actor, by.reason, now, ends_at)
        self.leases[job, version] = taken
        return taken

    def release_leases(self, by: Author) -> None:
        self.leases = {key: held for key, held in self.leases.items() if held.run_id != by.run_id}


def _predecessor(held: Lease) -> dict[str, str]:
    return {"run_id": held.run_id, "verb": held.verb, "actor": held.actor, "ends_at": held.ends_at.isoformat()}
