"""What the registry promises of attempts at finite programs, asked of the fake and of Postgres alike, on rig R0."""

from __future__ import annotations

from uuid import uuid4

from kappa.core.changes import Attempt, Outcome
from kappa.registry.port import Registry
from tests.plugins.kappa.registry.test_changes_contract import begun
from tests.plugins.registries import Trial


def test_only_the_newest_try_of_a_program_counts(registry: Registry, job: str, trial: Trial) -> None:
    """An earlier one may still be at work where nobody sees it."""
    change, first, second = begun(registry, job), uuid4(), uuid4()
    assert registry.attempt(change.change_id, "trial") is None
    registry.begin_attempt(change.change_id, "trial", first)
    registry.record_attempt(first, "driver-1")
    registry.begin_attempt(change.change_id, "trial", first)
    assert registry.attempt(change.change_id, "trial") == Attempt(first, "driver-1")
    registry.begin_attempt(change.change_id, "trial", second)
    trial.leave_outcome(change, first, Outcome("too late", {}))
    assert registry.attempt(change.change_id, "trial") == Attempt(second)
    trial.leave_outcome(change, second, Outcome("no", {"rows": 3}, ok=False))
    assert registry.attempt(change.change_id, "trial") == Attempt(second, None, Outcome("no", {"rows": 3}, ok=False))
    assert registry.attempt(change.change_id, "repartition") is None
