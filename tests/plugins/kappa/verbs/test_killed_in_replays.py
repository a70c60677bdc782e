"""A replay, a promotion, a roll-back or a retirement that is killed around any of its calls and run again: one end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugins import replay_kill_trials as trials
from tests.plugins.conftest import Stage
from tests.plugins.kills import killed_anywhere

Stages = Callable[[], Stage]
MOVES = {"registry.take_lease", "releases.hand_over", "log.ends", "registry.record", "registry.release_leases"}


@pytest.mark.fault("F27", "killed before any call of a port and run again: staged, compared and promoted once")
def test_a_replay(stages: Stages) -> None:
    staged = {"releases.stage_candidates", "cluster.submit", "releases.note_validation", "releases.note_answer"}
    assert MOVES | staged | {"releases.end_replay"} <= killed_anywhere(stages, trials.replay)


def test_a_proof(stages: Stages) -> None:
    acts = {"releases.stage_candidates", "releases.retire", "registry.record"}
    assert acts <= killed_anywhere(stages, trials.proof)


def test_a_promotion_by_hand(stages: Stages) -> None:
    assert killed_anywhere(stages, trials.promotion) >= MOVES


@pytest.mark.parametrize("stopped", [False, True])
def test_a_roll_back(stages: Stages, stopped: bool) -> None:
    acts = MOVES | ({"cluster.submit"} if stopped else set())
    assert acts <= killed_anywhere(stages, trials.rollback, stopped)


def test_a_retirement(stages: Stages) -> None:
    acts = {"registry.take_lease", "releases.retire", "registry.record", "releases.pins"}
    assert acts <= killed_anywhere(stages, trials.retirement)
