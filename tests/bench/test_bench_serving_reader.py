"""What a reader of both views went through."""

from __future__ import annotations

from bench.replay import seen
from bench.serving_reader import Answer, longest_gap_s, moves


def answer(at_ms: float, versions: tuple[int, ...] = (1, 1)) -> Answer:
    return Answer(at_ms, versions)


def test_the_longest_gap_is_between_two_answers_in_a_row() -> None:
    assert longest_gap_s([answer(0), answer(200), answer(1_500), answer(1_700)]) == 1.3
    assert longest_gap_s([answer(0)]) is None


def test_other_versions_are_counted() -> None:
    assert moves([answer(0), answer(200, (2, 2)), answer(400, (2, 2)), answer(600)]) == 2


def test_gaps_around_the_promotion_are_told_apart() -> None:
    looks = [answer(0), answer(9_000), answer(100_000), answer(100_200)]
    told = seen(looks, promoted_ms=100_100.0)
    assert (told["longest_gap_s"], told["longest_gap_s_at_the_promotion"]) == (91.0, 0.2)
