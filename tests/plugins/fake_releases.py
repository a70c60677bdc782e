"""Replays and releases in memory, over the memory of the fake registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from kappa.core.audit import Author, Entry
from kappa.core.replays import Answer, Freed, HandOver, Lag, Release, Replay, Standing, Weighed, approver, behind
from kappa.core.versions import OPEN_END, Desired, Segment, State, Version, check_transition
from kappa.registry.port import Check, StagedByAnother, passes
from kappa.registry.releases.replays import answered
from kappa.registry.releases.segments import canonical, carried_out
from kappa.registry.releases_port import (
    AlreadyRetired,
    HeldUp,
    NotCaughtUp,
    NotFit,
    Pinned,
    RowsInUse,
    SegmentsChanged,
    StillServes,
    UnknownReplay,
)
from kappa.registry.staging import REPLAYED
from tests.plugins.fake_memory import Key, Memory

ROWS_BYTES = 8192
POLL_SECONDS = 0.5


@dataclass
class FakeReleases:
    """The Releases in memory: `stuck` versions have a batch that does not end, `in_use` ones are being read; `lags`
    and `final` are what a standing tells of a version beside its offsets."""

    memory: Memory
    attempts: dict[UUID, Replay] = field(default_factory=dict)
    pinned: dict[Key, str] = field(default_factory=dict)
    freed: set[Key] = field(default_factory=set)
    stuck: set[Key] = field(default_factory=set)
    in_use: set[Key] = field(default_factory=set)
    lag_seconds: dict[Key, float] = field(default_factory=dict)
    final: dict[Key, datetime] = field(default_factory=dict)
    ended_at: dict[UUID, datetime] = field(default_factory=dict)
    speeds: dict[str, float] = field(default_factory=dict)

    def stage_candidates(self, versions: Sequence[Version], replay: Replay, by: Author) -> Replay:
        if {version.job: version.version for version in versions} != dict(replay.versions):
            raise ValueError("the replay does not name the versions to stage")
        if found := self.replay_of_run(by.run_id):
            return found
        for version in versions:
            if (version.job, version.version) in self.memory.held:
                raise StagedByAnother(version.job, version.version, self.memory.stager(version.job, version.version))
        told = {"replay_id": str(replay.replay_id), "live": dict(replay.live), "price": dict(replay.price)}
        for version in sorted(versions, key=lambda version: version.job):
            self.memory.make(version, by, REPLAYED, told)
        begun = replace(replay, run_id=by.run_id, validation=None, answer=None, answered_by=None, outcome=None)
        self.attempts[replay.replay_id] = replace(begun, ended=False, begun_at=self.memory.clock.now())
        return self.attempts[replay.replay_id]

    def replay(self, replay_id: UUID) -> Replay:
        if replay_id not in self.attempts:
            raise UnknownReplay(replay_id)
        return self.attempts[replay_id]

    def replay_of_run(self, run_id: str) -> Replay | None:
        return next((replay for replay in self.attempts.values() if replay.run_id == run_id), None)

    def replay_of_versions(self, versions: Mapping[str, int]) -> Replay | None:
        fitting = [r for r in self.attempts.values() if set(versions.items()) <= set(r.versions.items())]
        return fitting[-1] if fitting else None

    def replay_ended_at(self, job: str, version: int) -> datetime | None:
        replay = self.replay_of_versions({job: version})
        return self.ended_at.get(replay.replay_id) if replay else None

    def open_replays(self) -> list[Replay]:
        return [replay for replay in self.attempts.values() if not replay.ended]

    def note_validation(self, replay_id: UUID, result: Mapping[str, Any]) -> Replay:
        found = self.replay(replay_id)
        if found.answer is None and not found.ended:
            now = self.memory.clock.now()
            self.attempts[replay_id] = replace(found, validation=dict(result), validated_at=now)
        return self.replay(replay_id)

    def note_answer(self, replay_id: UUID, answer: Answer, by: Author) -> Replay:
        found = self.replay(replay_id)
        if found.answer is None and not found.ended:
            noted = self.attempts[replay_id] = replace(found, answer=answer, answered_by=by.actor)
            for job, version in sorted(found.versions.items()):
                self.memory.record(Entry(by, "replay.answered", job, version, answered(noted)))
        return self.replay(replay_id)

    def end_replay(self, replay_id: UUID, outcome: str) -> Replay:
        if not self.replay(replay_id).ended:
            self.attempts[replay_id] = replace(self.replay(replay_id), outcome=outcome, ended=True)
            self.ended_at[replay_id] = self.memory.clock.now()
        return self.replay(replay_id)

    def standing(self, job: str, version: int) -> Standing:
        begun, key = self.memory.known(job, version).start_offsets, (job, version)
        reached, ends = self.memory.next_offsets[key], self.memory.ends.get(key, {})
        unread = sum(max(0, end - reached[partition]) for partition, end in ends.items())
        beat = self.memory.beats.get(key)
        return Standing(
            next_offsets=dict(reached),
            end_offsets=dict(ends),
            complete_through=self.final.get(key),
            newest_event_time=None,
            lag_events=unread,
            lag_seconds=self.lag_seconds.get(key, 0.0) if unread else 0.0,
            read=sum(reached.values()) - sum(begun.values()),
            committed_at=beat.committed_at if beat else None,
        )

    def weighed(self, job: str, version: int) -> Weighed:
        self.memory.known(job, version)
        return Weighed(0 if (job, version) in self.freed else ROWS_BYTES, self.speeds.get(job))

    def hand_over(self, plan: HandOver, by: Author, seconds: float = 15.0, check: Check = passes) -> Release:
        plan, ends = canonical(plan), self.memory.clock.now().timestamp() + seconds
        if made := self._made(plan, by):
            return made
        check()
        self._check(plan)
        if self.stuck & set(plan.olds.items()):
            raise HeldUp(plan, seconds)
        while lags := self._lags(plan):
            if self.memory.clock.now().timestamp() >= ends:
                raise NotCaughtUp(lags, seconds)
            self.memory.clock.sleep(POLL_SECONDS)
        return self._move(plan, by, self._check(plan))

    def releases(self, job: str | None = None) -> list[Release]:
        return [release for release in self.memory.released if job is None or job in release.jobs]

    def previous_since(self, job: str, version: int) -> datetime | None:
        held = self.memory.held.get((job, version))
        return max(self._replaced(job, version), default=None) if held and held.state is State.PREVIOUS else None

    def failed_since(self, job: str, version: int) -> datetime | None:
        held, updated = self.memory.held.get((job, version)), self.memory.updated.get((job, version))
        failed = [updated] if held and updated and held.state is State.FAILED else []
        return max([*failed, *self._replaced(job, version)]) if failed else None

    def _replaced(self, job: str, version: int) -> list[datetime]:
        return [release.promoted_at for release in self.releases(job) if _ends(release.before, job) == version]

    def pin(self, job: str, version: int, by: Author) -> None:
        if self.memory.known(job, version).state is State.RETIRED:
            raise AlreadyRetired(job, version)
        if (job, version) not in self.pinned:
            self.pinned[job, version] = by.actor
            self.memory.record(Entry(by, "pin.set", job, version))

    def unpin(self, job: str, version: int, by: Author) -> None:
        if self.pinned.pop((job, version), None):
            self.memory.record(Entry(by, "pin.removed", job, version))

    def pins(self) -> set[Key]:
        return set(self.pinned)

    def retire(self, job: str, version: int, by: Author) -> Freed:
        key, held = (job, version), self.memory.known(job, version)
        if held.state is not State.RETIRED:
            self._check_free(held)
            self.memory.alter(job, version, state=State.RETIRED, desired=Desired.STOPPED)
            self.memory.epochs[key] += 1
            self.memory.lines.pop(key, None)
            self.memory.record(Entry(by, "retire.done", job, version, {"was": held.state}))
        if key in self.in_use:
            raise RowsInUse(job, version, 5)
        gone = 0 if key in self.freed else ROWS_BYTES
        self.freed.add(key)
        if gone:
            self.memory.record(Entry(by, "retire.freed", job, version, {"rows_bytes": gone}))
        return Freed(job, version, gone)

    def unfreed(self) -> set[Key]:
        return {key for key, held in self.memory.held.items() if held.state is State.RETIRED} - self.freed

    def _made(self, plan: HandOver, by: Author) -> Release | None:
        ours = (r for r in self.memory.released if (r.evidence.get("run_id"), r.jobs) == (by.run_id, plan.jobs))
        return next((release for release in ours if carried_out(plan, release, self._found(plan))), None)

    def _found(self, plan: HandOver) -> tuple[Segment, ...]:
        return tuple(segment for job in plan.jobs for segment in self.memory.served.get(job, []))

    def _check(self, plan: HandOver) -> bool:
        found = self._found(plan)
        if found != plan.before:
            raise SegmentsChanged(plan, found)
        states = {job: self.memory.known(job, plan.targets[job]).state for job in plan.jobs}
        for job, state in states.items():
            if state not in (State.CAUGHT_UP, State.PREVIOUS):
                raise NotFit(job, plan.targets[job], state)
        return State.CAUGHT_UP in states.values()

    def _lags(self, plan: HandOver) -> list[Lag]:
        lags: list[Lag] = []
        for job in plan.jobs:
            live, target = (self.memory.next_offsets[job, of[job]] for of in (plan.olds, plan.targets))
            lags += behind(job, plan.targets[job], live, target)
        return lags

    def _move(self, plan: HandOver, by: Author, first: bool) -> Release:
        made = self._release(plan, by, first)
        for job in plan.jobs:
            self.memory.served[job] = [segment for segment in plan.after if segment.job == job]
            if self.memory.held[job, plan.olds[job]].state is State.LIVE:
                self.memory.alter(job, plan.olds[job], state=State.PREVIOUS)
            self.memory.alter(job, plan.targets[job], state=State.LIVE)
            told = {"release_id": made.release_id, "from_window": plan.from_window, "old": plan.olds[job]}
            self.memory.record(Entry(by, "release.made", job, plan.targets[job], told))
        self.memory.released.append(made)
        return made

    def _release(self, plan: HandOver, by: Author, first: bool) -> Release:
        replay = self.replay_of_versions(plan.targets)
        evidence = {
            "run_id": by.run_id, "reason": by.reason, "from_window": plan.from_window, "targets": dict(plan.targets),
            "hand_over_seconds": 0.0, "replay_id": str(replay.replay_id) if replay else None,
            "validation": replay.validation if replay else None,
        }  # fmt: skip
        before, after = (
            {job: dict(self.memory.next_offsets[job, of[job]]) for job in plan.jobs} for of in (plan.olds, plan.targets)
        )
        approved = approver(replay, first, by.actor)
        return Release(
            len(self.memory.released) + 1, plan.jobs, plan.before, plan.after, before, after,
            self.memory.clock.now(), by.actor, approved, evidence,
        )  # fmt: skip

    def _check_free(self, held: Version) -> None:
        naming = [s for s in self.memory.served.get(held.job, []) if s.version == held.version]
        if naming:
            raise StillServes(naming[-1])
        if (held.job, held.version) in self.pinned:
            raise Pinned(held.job, held.version, self.pinned[held.job, held.version])
        check_transition(held.job, held.version, held.state, State.RETIRED)


def _ends(segments: Sequence[Segment], job: str) -> int | None:
    return next((s.version for s in segments if (s.job, s.to_window) == (job, OPEN_END)), None)
