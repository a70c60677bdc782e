"""The changes of versions in the fake registry."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from kappa.core.changes import ENDED, Attempt, Change, Mark, Outcome, Phase, RunsAs
from kappa.core.checkpoint.reader import Planned
from kappa.core.versions import OPEN_END, Desired, State
from kappa.registry.port import Unsettled
from tests.plugins.fake_memory import Key, Memory


@dataclass
class FakeChanges(Memory):
    """What versions are to run as instead, in memory.

    `generations` are the folders of finished copies of checkpoints, `batches` the generations that a batch was
    committed from, `planned` the batches that were told in detail, `occupied` the versions whose checkpoints finite
    Spark work holds.
    """

    changes: dict[UUID, Change] = field(default_factory=dict)
    begun: dict[UUID, datetime] = field(default_factory=dict)
    generations: dict[Key, dict[int, str]] = field(default_factory=dict)
    batches: set[tuple[str, int, int]] = field(default_factory=set)
    planned: dict[tuple[str, int, int], dict[int, Planned]] = field(default_factory=dict)
    occupied: set[Key] = field(default_factory=set)
    attempts: dict[tuple[UUID, str], Attempt] = field(default_factory=dict)

    def open_change(self, job: str, version: int) -> Change | None:
        ours = (change for change in self.changes.values() if (change.job, change.version) == (job, version))
        return next((change for change in ours if change.phase not in ENDED), None)

    def change(self, change_id: UUID) -> Change:
        return self.changes[change_id]

    def begin_change(self, change: Change) -> Change:
        found = self.changes.get(change.change_id) or self.open_change(change.job, change.version)
        if found and found.run_id != change.run_id:
            raise Unsettled(found)
        if found:
            return found
        self.known(change.job, change.version)
        self.begun[change.change_id] = self.clock.now()
        self.changes[change.change_id] = replace(change, phase=Phase.BEGUN, marks={})
        return self.changes[change.change_id]

    def next_generation(self, job: str, version: int) -> int:
        wanted = {c.new.generation for c in self.changes.values() if (c.job, c.version) == (job, version)}
        return 1 + max({self.known(job, version).generation} | wanted | self.generations.get((job, version), {}).keys())

    def folder(self, job: str, version: int, generation: int) -> str:
        return self.generations.get((job, version), {}).get(generation, f"g{generation}")

    def hold(self, change_id: UUID) -> None:
        if change := self._advance(change_id, {Phase.BEGUN}, Phase.HELD):
            self.alter(change.job, change.version, desired=Desired.STOPPED)

    def switch(self, change_id: UUID) -> None:
        if change := self._advance(change_id, {Phase.BEGUN, Phase.HELD}, Phase.SWITCHED):
            self._run_as(change, change.new)
            self.alter(change.job, change.version, desired=change.wanted)

    def end_change(self, change_id: UUID, phase: Phase) -> None:
        if phase not in ENDED:
            raise ValueError(f"a change does not end as {phase}")
        if before := self._advance(change_id, set(Phase) - ENDED, phase):
            if (before.phase, phase) == (Phase.SWITCHED, Phase.UNDONE):
                self._run_as(before, before.old)
                self._revive_as_it_was(before.job, before.version)
            self.alter(before.job, before.version, desired=before.wanted if phase is Phase.DONE else before.desired)

    def mark(self, change_id: UUID, mark: Mark) -> None:
        self._mark(change_id, mark)

    def begin_attempt(self, change_id: UUID, program: str, attempt_id: UUID) -> None:
        before = self.attempts.get((change_id, program))
        if before is None or before.attempt_id != attempt_id:
            self.attempts[change_id, program] = Attempt(attempt_id)

    def record_attempt(self, attempt_id: UUID, submission_id: str) -> None:
        for key, attempt in self.attempts.items():
            if attempt.attempt_id == attempt_id:
                self.attempts[key] = replace(attempt, submission_id=submission_id)

    def attempt(self, change_id: UUID, program: str) -> Attempt | None:
        return self.attempts.get((change_id, program))

    def leave_outcome(self, attempt_id: UUID, outcome: Outcome) -> None:
        """What a program does last; whether it was still the newest try."""
        for key, attempt in self.attempts.items():
            if attempt.attempt_id == attempt_id:
                self.attempts[key] = replace(attempt, outcome=outcome)

    def has_batches(self, job: str, version: int, generation: int) -> bool:
        return (job, version, generation) in self.batches

    def newest_batches(self, job: str, version: int, generation: int) -> Mapping[int, Planned]:
        held = self.planned.get((job, version, generation), {})
        return {batch_id: held[batch_id] for batch_id in sorted(held, reverse=True)[:2]}

    def checkpoint_is_free(self, job: str, version: int) -> bool:
        return (job, version) not in self.occupied

    def _advance(self, change_id: UUID, before: Collection[Phase], phase: Phase) -> Change | None:
        change = self.changes[change_id]
        if change.phase not in before:
            return None
        self.changes[change_id] = replace(change, phase=phase)
        self._mark(change_id, phase)
        return change

    def _mark(self, change_id: UUID, mark: str) -> None:
        change = self.changes[change_id]
        marks = {str(mark): self.clock.now().isoformat(), **change.marks}
        self.changes[change_id] = replace(change, marks=marks)

    def _run_as(self, change: Change, runs_as: RunsAs) -> None:
        folder = self.folder(change.job, change.version, runs_as.generation)
        self.alter(change.job, change.version, **vars(runs_as), folder=folder)

    def revive(self, job: str, version: int) -> State:
        serves = any((s.version, s.to_window) == (version, OPEN_END) for s in self.served.get(job, []))
        if serves and self.known(job, version).state is State.FAILED:
            self.alter(job, version, state=State.LIVE)
        return self.known(job, version).state

    def revive_previous(self, job: str, version: int) -> State:
        end = (version, OPEN_END)
        serves = any((s.version, s.to_window) == end for s in self.served.get(job, []))
        served = any((s.job, s.version, s.to_window) == (job, *end) for r in self.released for s in r.before)
        if served and not serves and self.known(job, version).state is State.FAILED:
            self.alter(job, version, state=State.PREVIOUS)
        return self.known(job, version).state

    def _revive_as_it_was(self, job: str, version: int) -> None:
        if self.held[job, version].state is State.FAILED and self.revive(job, version) is State.LIVE:
            self.lines[job, version] = [r for r in self.lines.get((job, version), []) if not r.startswith("failed:")]
