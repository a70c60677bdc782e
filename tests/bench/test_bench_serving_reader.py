"""What a reader of both views went through."""

from __future__ import annotations

from bench.replay import seen
from bench.serving_reader import Answer, falls, longest_gap_s, moves

VIEW = "ad_ctr_minute"


def answer(at_ms: float, versions: tuple[int, ...] = (1, 1), **counts: int) -> Answer:
    return Answer(at_ms, versions, {(VIEW, client): count for client, count in counts.items()})


def test_the_longest_gap_is_between_two_answers_in_a_row() -> None:
    assert longest_gap_s([answer(0), answer(200), answer(1_500), answer(1_700)]) == 1.3
    assert longest_gap_s([answer(0)]) is None


def test_a_count_that_is_less_than_before_fell() -> None:
    (fall,) = falls([answer(0, a=5, b=5), answer(200, a=6, b=4), answer(400, a=6, b=4)])
    assert (fall.at_ms, fall.client, fall.before, fall.after, fall.across) == (200, "b", 5, 4, False)


def test_a_count_that_is_gone_fell_to_nothing() -> None:
    (fall,) = falls([answer(0, a=5), answer(200)])
    assert (fall.before, fall.after) == (5, 0)


def test_a_fall_across_a_promotion_is_told_apart() -> None:
    looks = [answer(0, a=5), answer(200, (2, 2), a=4), answer(400, (2, 2), a=3)]
    assert [fall.across for fall in falls(looks)] == [True, False]
    assert moves(looks) == 1
    told = seen(looks, promoted_ms=150.0)
    assert (told["fell_across"], told["fell_else"], told["answers"]) == (1, 1, 3)
    assert seen(looks[1:], promoted_ms=150.0)["fell_across"] == 0


def test_gaps_around_the_promotion_are_told_apart() -> None:
    looks = [answer(0), answer(9_000), answer(100_000), answer(100_200)]
    told = seen(looks, promoted_ms=100_100.0)
    assert (told["longest_gap_s"], told["longest_gap_s_at_the_promotion"]) == (91.0, 0.2)
