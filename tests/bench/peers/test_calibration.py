"""How noisy the machine was, from passes of one loop."""

from __future__ import annotations

import pytest

from bench.peers.calibration import Round, calibrate, noise

QUIET = [Round(1.0, 1.0), Round(1.02, 1.0)]


def test_a_quiet_machine_is_said_to_be_quiet() -> None:
    found = noise([QUIET, QUIET])
    assert found.is_quiet
    assert "was quiet" in found.sentence()


def test_time_that_others_had_is_told_and_is_noise() -> None:
    found = noise([[Round(1.0, 0.8), Round(1.0, 0.8)]])
    assert found.taken == pytest.approx(0.2)
    assert not found.is_quiet
    assert "NOT quiet" in found.sentence()


def test_one_slow_pass_is_noise() -> None:
    found = noise([QUIET, [Round(1.3, 1.3), Round(1.0, 1.0), Round(1.0, 1.0)]])
    assert (found.spread, found.drift) == (1.3, 1.0)
    assert not found.is_quiet


def test_a_core_that_became_slower_is_told_by_the_medians_of_each_time() -> None:
    found = noise([[Round(1.0, 1.0)], [Round(1.1, 1.1)], [Round(1.2, 1.2)]])
    assert found.drift == pytest.approx(1.2)
    assert not found.is_quiet


def test_the_loop_takes_time_and_does_not_wait() -> None:
    (passed,) = calibrate(rounds=1, loops=200_000)
    assert 0 < passed.cpu <= passed.wall * 1.5
