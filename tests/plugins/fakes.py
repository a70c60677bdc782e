"""Fakes of the control plane's ports: a registry, and a cluster with drivers that claim their launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

from kappa.cluster import Capacity, DriverState, Host, Submission
from kappa.core.audit import Author
from kappa.core.changes import ENDED, Mark
from kappa.core.replays import Release
from kappa.core.versions import BEGINNING, OPEN_END, Desired, Heartbeat, Launch, Segment, State, Version
from kappa.registry.port import Check, ServedByAnother, StagedByAnother, UnknownVersion, passes
from kappa.registry.staging import DEPLOYED
from tests.plugins.driver_side import DriverSide
from tests.plugins.fake_books import FakeBooks
from tests.plugins.fake_leases import FakeLeases
from tests.plugins.fake_log import TOPIC, FakeLog
from tests.plugins.fake_memory import NOON, FakeClock

__all__ = ["NOON", "TOPIC", "FakeClock", "FakeCluster", "FakeLog", "FakeRegistry"]


@dataclass
class FakeRegistry(FakeLeases, FakeBooks):
    """The Registry in memory."""

    drained: dict[tuple[str, int], datetime] = field(default_factory=dict)

    @property
    def releases(self) -> int:
        """How many releases were made."""
        return len(self.released)

    def versions(self, job: str) -> list[Version]:
        return [v for (name, _), v in sorted(self.held.items()) if name == job]

    def segments(self, job: str) -> list[Segment]:
        return self.served.get(job, [])

    def stage(self, version: Version, by: Author, evidence: Mapping[str, Any], check: Check = passes) -> None:
        check()
        key = (version.job, version.version)
        if not self.make(version, by, DEPLOYED, evidence) and self.stager(*key) != by.run_id:
            raise StagedByAnother(*key, self.stager(*key))

    def desire(self, job: str, version: int, desired: Desired) -> None:
        self.alter(job, version, desired=desired)

    def set_state(self, job: str, version: int, old: State, new: State) -> None:
        if (job, version) in self.held and self.held[job, version].state is old:
            self.alter(job, version, state=new)

    def launch(self, launch_id: UUID) -> Launch:
        return self.launches[launch_id]

    def intend_launch(self, job: str, version: int, launch_id: UUID) -> Launch:
        self.known(job, version)
        found = self.open_launch(job, version)
        if found is None:
            found = self.launches[launch_id] = Launch(launch_id, job, version, self.clock.now())
        return found

    def record_submission(self, launch_id: UUID, submission_id: str) -> None:
        self.launches[launch_id] = replace(self.launches[launch_id], submission_id=submission_id)

    def record_standby(self, launch_id: UUID, submission_id: str) -> None:
        self.launches[launch_id] = replace(self.launches[launch_id], standby=submission_id, standby_warm_at=None)

    def end_launch(self, launch_id: UUID) -> None:
        self.launches[launch_id] = replace(self.launches[launch_id], ended=True)

    def submissions(self) -> Mapping[str, tuple[str, int]]:
        return {name: (one.job, one.version) for one in self.launches.values() for name in one.names}

    def claim(self, launch_id: UUID, submission_id: str) -> bool:
        """What a driver does first: whether it holds the launch."""
        found = self.launches[launch_id]
        if found.ended or found.claimed_by not in (None, submission_id):
            return False
        self.launches[launch_id] = replace(found, claimed_by=submission_id)
        return True

    def is_intended(self, launch_id: UUID) -> bool:
        return launch_id in self.launches

    def wanted(self, job: str, version: int) -> Desired:
        return self.held[job, version].desired

    def leave(self, launch_id: UUID, submission_id: str) -> None:
        self.end_launch(launch_id)

    def beat(self, job: str, version: int, submission_id: str, epoch: int, commits: bool) -> None:
        now = self.clock.now()
        self.beats[job, version] = Heartbeat(epoch, submission_id, now, 0.0, now if commits else None)

    def heartbeat(self, job: str, version: int) -> Heartbeat | None:
        beat = self.beats.get((job, version))
        return replace(beat, age_seconds=(self.clock.now() - beat.beat_at).total_seconds()) if beat else None

    def drained_since(self, job: str, version: int, since: datetime) -> bool:
        at = self.drained.get((job, version))
        return at is not None and at > since

    def red_lines(self, job: str, version: int) -> list[str]:
        return self.lines.get((job, version), [])

    def clear_red_lines(self, job: str, version: int) -> None:
        self.lines.pop((job, version), None)

    def raise_epoch(self, job: str, version: int) -> int:
        if (job, version) not in self.epochs:
            raise UnknownVersion(job, version)
        self.epochs[job, version] += 1
        return self.epochs[job, version]

    def go_live(self, job: str, version: int, by: Author) -> bool:
        before = self.segments(job)
        if before and before[-1].version != version:
            raise ServedByAnother(job, version, before[-1].version)
        changed = not before or self.held[job, version].state in (State.STAGED, State.FAILED)
        if not before:
            self.served[job] = [Segment(job, BEGINNING, OPEN_END, version)]
            self.released.append(self._first_release(job, version, by))
        if self.held[job, version].state in (State.STAGED, State.FAILED):
            self.alter(job, version, state=State.LIVE)
        return changed

    def _first_release(self, job: str, version: int, by: Author) -> Release:
        evidence = {"run_id": by.run_id, "reason": by.reason, "first_deployment": True}
        reached, now = dict(self.next_offsets[job, version]), self.clock.now()
        after = (Segment(job, BEGINNING, OPEN_END, version),)
        return Release(len(self.released) + 1, (job,), (), after, {}, {job: reached}, now, by.actor, None, evidence)


class FakeCluster:
    """A cluster whose drivers come to life after some seconds, claim their launch, or end if another holds it. Those of
    artifacts in `broken` never come to life, those in `looping` beat with a new epoch each time and commit nothing; one
    in `leaving` has seen the request to stop, and ends whatever is wanted by then. Where `stands_by`, who finds its
    launch held waits."""

    def __init__(self, registry: DriverSide, slow_seconds: float = 5.0) -> None:
        self.registry, self.slow = registry, timedelta(seconds=slow_seconds)
        self.submissions: dict[str, tuple[Submission, datetime]] = {}
        self.states: dict[str, DriverState] = {}
        self.obedient, self.stands_by = True, False
        self.broken: set[str] = set()
        self.looping: set[str] = set()
        self.leaving: set[str] = set()
        self.free = 8
        registry.clock.meanwhile.append(self.work)

    def submit(self, submission: Submission) -> str:
        name = f"driver-{len(self.submissions)}"
        self.submissions[name] = (submission, self.registry.clock.now() + self.slow)
        self.states[name] = DriverState.RUNNING
        return name

    def state(self, launch_id: UUID, names: Sequence[str]) -> DriverState:
        return self.states.get(names[0], DriverState.GONE) if names else DriverState.GONE

    def kill(self, launch_id: UUID, names: Sequence[str]) -> None:
        self.states |= {name: DriverState.KILLED for name in names if name in self.states}

    def capacity(self) -> Capacity:
        return Capacity((Host(8, self.free, 8192, 8192),))

    def running(self) -> list[str]:
        return [name for name, state in self.states.items() if state is DriverState.RUNNING]

    def work(self) -> None:
        """What the drivers do while time passes: claim, beat, obey."""
        for name in self.running():
            submission, alive_at = self.submissions[name]
            if self.registry.clock.now() >= alive_at and not _is_of(submission, self.broken):
                self._drive(name, submission)

    def _drive(self, name: str, submission: Submission) -> None:
        values = dict(pairwise(submission.arguments))
        if "--attempt" in values:
            return
        job, version, launch_id = values["--job"], int(values["--version"]), UUID(values["--launch"])
        if "--standby" in submission.arguments and not self.registry.is_intended(launch_id):
            self._stand_by(name, launch_id)
        elif not self.registry.claim(launch_id, name):
            self.states[name] = DriverState.RUNNING if self.stands_by else DriverState.FINISHED
        elif name in self.leaving or (self.registry.wanted(job, version) is Desired.STOPPED and self.obedient):
            self.registry.leave(launch_id, name)
            self.states[name] = DriverState.FINISHED
        else:
            loops = _is_of(submission, self.looping)
            epoch = round(self.registry.clock.now().timestamp()) if loops else 1
            self.registry.beat(job, version, name, epoch, commits=not loops)

    def _stand_by(self, name: str, change_id: UUID) -> None:
        """A driver that is not called yet: warm as soon as it is up, and gone once its change has ended."""
        if self.registry.change(change_id).phase in ENDED:
            self.states[name] = DriverState.FINISHED
        else:
            self.registry.mark(change_id, Mark.STANDBY)


def _is_of(submission: Submission, digests: set[str]) -> bool:
    return any(f"/{digest}/" in argument for digest in digests for argument in submission.arguments)
