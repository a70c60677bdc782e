"""The plan of a random mix of faults."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from tests.integration.mishaps import PAUSE_SECONDS, Mishap, planned
from tests.rigs.running_stack import JOBS

ROUND = len(Mishap)


@given(st.integers(0, 2**31))
def test_equal_seeds_make_equal_mixes_and_each_round_has_every_mishap(seed: int) -> None:
    plan = list(islice(planned(seed), 3 * ROUND))
    assert plan == list(islice(planned(seed), 3 * ROUND))
    for first in range(0, 3 * ROUND, ROUND):
        assert {one.mishap for one in plan[first : first + ROUND]} == set(Mishap)
    low, high = PAUSE_SECONDS
    assert all(low <= one.pause_seconds <= high and one.job in JOBS and 0 <= one.size < 1 for one in plan)


def test_another_seed_makes_another_mix() -> None:
    assert list(islice(planned(1), ROUND)) != list(islice(planned(2), ROUND))
