"""Runs that are killed around or within some of their calls, whose registry is the one in Postgres: a transaction that
was open at the moment of the kill is rolled back, one that was committed holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from kappa.code import artifacts
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from tests.plugins import kill_trials, replay_kill_trials
from tests.plugins.kills import killed_at_some
from tests.plugins.postgres_stage import PostgresStage, prepare, stage_on_postgres

pytestmark = pytest.mark.rig
Stages = Callable[[], PostgresStage]
TRIALS = [
    pytest.param(trial, id=verb, marks=pytest.mark.long(minutes=minutes))
    for trials, minutes in ((kill_trials.TRIALS, 1), (replay_kill_trials.TRIALS, 2))
    for verb, trial in trials.items()
]


@pytest.fixture(scope="module")
def prepared(parts: Layout) -> Settings:
    return prepare(parts.settings)


@pytest.fixture
def stages(prepared: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stages]:
    """Makes a stage at each call, all with the same code, which is in no git; the one before it ends."""
    monkeypatch.setattr(artifacts, "_commit", lambda _: None)
    numbers = count()
    with ExitStack() as present:

        def make() -> PostgresStage:
            present.close()
            return present.enter_context(stage_on_postgres(prepared, tmp_path / f"stage-{next(numbers)}"))

        yield make


@pytest.mark.parametrize("trial", TRIALS)
def test_killed_at_some_calls(stages: Stages, trial: Callable[..., None], seed: int) -> None:
    deaths = killed_at_some(stages, trial, seed)
    assert any(death.within for death in deaths), "in none of them a transaction was open"
