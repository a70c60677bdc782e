"""What the times left that were told during a replay are worth, by when it was ready."""

from __future__ import annotations

from bench.replay_eta import judged

PARTS = 100_000.0, 140_000.0, 190_000.0, 200_000.0


def test_a_look_is_right_by_the_time_that_was_left_then() -> None:
    looks = [(110_000.0, 90.0), (150_000.0, 65.1), (150_000.0, 64.9), (150_000.0, 34.9), (180_000.0, None)]
    found = judged(looks, PARTS, 80.0)
    assert (found.took_s, found.planned_s) == (100.0, 80.0)
    assert (found.starting_s, found.reading_s, found.settling_s) == (40.0, 50.0, 10.0)
    assert (found.looks, found.untold, found.right) == (4, 1, 0.4)


def test_what_was_told_before_the_launch_and_near_the_end_does_not_count() -> None:
    looks = [(90_000.0, 110.0), (195_000.0, 5.0)]
    assert judged(looks, PARTS, 80.0).looks == 0
