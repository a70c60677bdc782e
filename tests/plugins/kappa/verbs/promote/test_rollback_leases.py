"""A roll-back without Airflow that catches up for hours: it holds its versions while it lives, and not much longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from kappa.core.audit import Author
from kappa.core.log.kafka_log import Offsets
from kappa.verbs import lease
from kappa.verbs.promote import steps as promote
from kappa.verbs.retire import steps as retire
from kappa.verbs.stop.steps import end_driver
from tests.plugins.conftest import Stage
from tests.plugins.replay_runs import JOBS, deployed, run_all, serving

OTHER, THIRD, SWEEP = Author("user-2", "run-2"), Author("user-3", "run-3"), Author("airflow", "sweep-1")
SLOW = ("ad_ctr", 1)
RECORDS, HOUR = 10_000, 3600.0
KILLED_SECONDS = 600.0
"""The longest that a command in place still holds a version once it was killed (docs/runbook.md)."""


@pytest.fixture
def slow(stage: Stage, author: Author, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Version 2 of both jobs serves; version 1 of `ad_ctr` was stopped, and will read for three hours once started."""
    deployed(stage, author)
    run_all(stage.platform, OTHER)
    end_driver(stage.platform, *SLOW, author)
    stage.log.times = {0: [*stage.log.times[0], *[1] * RECORDS], 1: []}
    at_once, began = stage.read, stage.clock.now()

    def read(job: str, version: int, ends: Offsets) -> None:
        share = (stage.clock.now() - began) / timedelta(hours=3)
        if (job, version) != SLOW or share >= 1:
            at_once(job, version, ends)
            return
        stage.registry.next_offsets[SLOW], stage.registry.ends[SLOW] = {0: round(ends[0] * share), 1: 0}, dict(ends)
        stage.releases.lag_seconds[SLOW] = HOUR

    monkeypatch.setattr(stage, "read", read)
    return stage


def rolled_back(stage: Stage) -> str:
    """A roll-back in place, which is given the time that it takes."""
    plan = replace(promote.plan_rollback(stage.platform, JOBS), eta_seconds=3 * HOUR)
    return promote.carry_out(stage.platform, plan, THIRD, lambda _: False, lambda _: None)


def after(stage: Stage, seconds: float, act: Callable[[], object]) -> None:
    """What somebody else does, once, when so much time has passed."""
    due = stage.clock.now() + timedelta(seconds=seconds)

    def happen() -> None:
        if stage.clock.now() >= due:
            stage.clock.meanwhile.remove(happen)
            act()

    stage.clock.meanwhile.append(happen)


def test_a_catch_up_of_hours_is_held_to_its_end(slow: Stage) -> None:
    said = list[str]()
    for hours in (1.1, 2.1):
        after(slow, hours * HOUR, lambda: said.append(sweep(slow)))
    assert "rolled back: ad_ctr v2 -> v1, client_spend v2 -> v1" in rolled_back(slow)
    assert said == ["nothing to retire. 4 versions are kept."] * 2
    assert serving(slow) == dict.fromkeys(JOBS, 1)
    assert slow.registry.leases == {}


def sweep(stage: Stage) -> str:
    """What the hourly retirement does."""
    return retire.carry_out(stage.platform, retire.plan_retire(stage.platform, SWEEP), SWEEP)


@pytest.mark.parametrize("seconds", [60.0, 2 * HOUR])
def test_what_a_killed_command_held_is_free_ten_minutes_later(slow: Stage, seconds: float) -> None:
    def killed() -> None:
        raise KeyboardInterrupt

    left = list[float]()
    after(slow, seconds, lambda: left.extend(remaining(slow)))
    after(slow, seconds, killed)
    with pytest.raises(KeyboardInterrupt):
        rolled_back(slow)
    assert len(left) == len(JOBS)
    assert all(0 < one <= KILLED_SECONDS for one in left)


def remaining(stage: Stage) -> list[float]:
    """How long each lease lasts yet (s)."""
    return [(held.ends_at - stage.clock.now()).total_seconds() for held in stage.registry.leases.values()]


def test_who_lost_its_versions_does_not_take_them_back(slow: Stage) -> None:
    after(slow, HOUR, lambda: slow.registry.leases.clear())
    with pytest.raises(lease.NotHolder, match="run run-3 does not hold ad_ctr v1"):
        rolled_back(slow)
    assert serving(slow) == dict.fromkeys(JOBS, 2)
    assert slow.registry.leases == {}
