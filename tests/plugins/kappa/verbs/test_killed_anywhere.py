"""A run that is killed around any of its calls and run again, or is settled by another one: one driver, no half."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugins import kill_trials as trials
from tests.plugins.conftest import Stage
from tests.plugins.kills import killed_anywhere

Stages = Callable[[], Stage]


@pytest.mark.parametrize("slow_seconds", [1, 25])
def test_a_deployment(stages: Stages, slow_seconds: int) -> None:
    acts = {"registry.stage", "cluster.submit", "registry.go_live", "registry.record"}
    assert acts <= killed_anywhere(stages, trials.deployment, slow_seconds)


@pytest.mark.parametrize("obedient", [True, False])
def test_a_stop(stages: Stages, obedient: bool) -> None:
    acts = {"registry.desire", "registry.end_launch"} | ({"cluster.kill"} if not obedient else set())
    assert acts <= killed_anywhere(stages, trials.stopping, obedient)


@pytest.mark.parametrize("gave_up", [False, True])
def test_a_start(stages: Stages, gave_up: bool) -> None:
    assert {"cluster.submit", "registry.record"} <= killed_anywhere(stages, trials.starting, gave_up)


@pytest.mark.fault("F26", "killed before any call of a port and run again: the new size runs, by one driver")
@pytest.mark.parametrize("repartitions", [False, True], ids=["in_place", "rescale"])
def test_a_change_that_is_run_again(stages: Stages, repartitions: bool) -> None:
    acts = {"registry.begin_change", "registry.hold", "registry.switch", "cluster.submit", "registry.end_change"}
    assert acts <= killed_anywhere(stages, trials.change_run_again, repartitions)


@pytest.mark.parametrize("committed", [False, True])
def test_a_change_that_another_run_settles(stages: Stages, committed: bool) -> None:
    acts = {"registry.switch", "cluster.submit", "registry.end_change"}
    assert acts <= killed_anywhere(stages, trials.change_settled, committed)


@pytest.mark.parametrize("trouble", trials.TROUBLES)
def test_a_repair(stages: Stages, trouble: str) -> None:
    acts = {"registry.take_lease", "cluster.submit", "registry.release_leases"}
    assert acts <= killed_anywhere(stages, trials.repairing, trouble)


def test_a_repair_that_gives_up(stages: Stages) -> None:
    assert {"registry.raise_epoch", "registry.give_up"} <= killed_anywhere(stages, trials.giving_up)
