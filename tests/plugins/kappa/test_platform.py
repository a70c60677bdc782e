"""How often a step asks for what it waits for."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kappa.platform import MOST_PAUSE_SECONDS, pause_seconds, wait_until
from tests.plugins.fake_memory import FakeClock


@pytest.mark.parametrize(
    ("waited", "pause", "until_the_next"), [(0, 0.3, 0.3), (9, 0.3, 0.3), (60, 0.3, 2), (60, 3, 3), (3_600, 0.3, 5)]
)
def test_who_has_waited_long_asks_less_often(waited: float, pause: float, until_the_next: float) -> None:
    assert pause_seconds(waited, pause) == until_the_next


def test_a_wait_of_minutes_asks_seldom_and_ends_in_time() -> None:
    clock, asked = FakeClock(), list[float]()

    def never() -> bool:
        asked.append(clock.monotonic())
        return False

    assert not wait_until(clock, 400.0, never, pause=0.3)
    assert 400.0 <= asked[-1] - asked[0] <= 400.0 + MOST_PAUSE_SECONDS
    assert len(asked) < 200
    assert max(later - earlier for earlier, later in pairwise(asked)) <= MOST_PAUSE_SECONDS
