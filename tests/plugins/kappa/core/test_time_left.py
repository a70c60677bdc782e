"""The time left of a replay whose first full batch takes longer than those after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kappa.core.replays import SETTLING_SECONDS, Course, Forecast, Weighed, forecast, time_left

EXPECTED = Forecast(start_s=90.0, per_s=8_000.0, warming_s=20.0)


def left(**seen: float) -> float | None:
    """Without the looks that have to agree."""
    told = time_left(EXPECTED, Course(**{"age_s": 100.0, "unread": 400_000, **seen}))  # type: ignore[arg-type]
    return None if told is None else told - SETTLING_SECONDS


def test_until_its_first_full_batch_is_in_what_it_loses_to_that_one_is_still_to_come() -> None:
    assert left(age_s=10.0) == 80 + 20 + 50
    assert left(read=0, idle_s=0.0) == 20 + 50
    assert left(read=0, idle_s=30.0) == 20 + 50 - 30


def test_afterwards_that_loss_slows_nothing_down_any_more() -> None:
    """200,000 records in 45 s are 8,000 a second and 20 s."""
    assert left(read=200_000, reading_s=45.0, idle_s=0.0) == pytest.approx(400_000 / 8_000)


def test_who_reads_faster_than_the_loss_alone_would_let_him_is_not_taken_to_be_infinitely_fast() -> None:
    assert left(read=200_000, reading_s=20.0, idle_s=0.0) == pytest.approx(400_000 / (280_000 / 20))


def test_what_is_a_little_overdue_may_end_any_moment_and_what_is_long_overdue_says_nothing() -> None:
    seen = {"read": 200_000, "reading_s": 45.0, "unread": 8_000}
    assert left(**seen, idle_s=17.0) == 0
    assert left(**seen, idle_s=17.1) is None


def test_the_looks_that_have_to_agree_take_as_long_as_they_took_before() -> None:
    slower = replace(EXPECTED, settling_s=40.0)
    assert time_left(slower, Course(age_s=100.0, unread=0, idle_s=1.0)) == 40.0
    assert time_left(slower, Course(age_s=10.0, unread=400_000)) == 80 + 20 + 50 + 40
    assert forecast(Weighed(0, 8_000.0, 90.0, 20.0, 40.0), 100_000.0) == slower
    assert forecast(Weighed(0, 8_000.0, 90.0, 20.0), 100_000.0) == EXPECTED


@pytest.mark.parametrize(
    ("deployment_s", "launched_at_once", "start_s"),
    [(None, 1, 25), (None, 2, 50), (6.0, 1, 25), (6.0, 2, 50), (25.0, 1, 50), (25.0, 2, 100)],
)
def test_before_any_candidate_was_seen_to_start_each_of_those_launched_at_once_is_taken_to_add_its_own_start(
    deployment_s: float | None, launched_at_once: int, start_s: float
) -> None:
    never = Weighed(0, 8_000.0, deployment_s=deployment_s)
    assert forecast(never, 100_000.0, launched_at_once).start_s == start_s
    assert forecast(replace(never, start_s=60.0), 100_000.0, launched_at_once).start_s == 60
