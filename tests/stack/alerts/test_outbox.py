"""Which messages are due, and what a try leaves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from stack.alerts.outbox import GIVEN_UP_SECONDS, PASSED_AFTER_TRIES, Letter, delivered, due, failed, post

RED = Letter("duty", 1, False, "red: x", "", written=0, not_before=0)
OVER = replace(RED, is_over=True, title="over: x")
NEXT = replace(RED, incident=2, title="red: y")


def test_each_target_gets_its_messages_in_their_order() -> None:
    chat = replace(RED, target="chat")
    held = post((), [RED, chat, NEXT])
    assert due(held, 0) == [RED, chat]
    assert due(delivered(held, RED), 0) == [chat, NEXT]


def test_a_target_that_is_away_is_asked_ever_more_seldom_and_given_up_after_a_day() -> None:
    held, at, tries = post((), [RED]), 0.0, []
    while held:
        (letter,) = due(held, at)
        tries.append(at)
        held = failed(held, letter, at)
        at = held[0].not_before if held else at
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses[:7] == [15, 30, 60, 120, 240, 480, 900]
    assert max(pauses) == 900
    assert GIVEN_UP_SECONDS < tries[-1] < GIVEN_UP_SECONDS + 1000


def test_while_one_message_waits_for_its_next_try_later_ones_wait_behind_it() -> None:
    held = failed(post((), [RED, NEXT]), RED, 0)
    assert due(held, 14) == []
    assert [letter.title for letter in due(held, 15)] == ["red: x"]


def test_a_message_that_is_never_taken_holds_up_the_later_ones_for_minutes_only() -> None:
    held, at = post((), [RED, NEXT]), 0.0
    for _ in range(PASSED_AFTER_TRIES):
        at = held[0].not_before
        assert [letter.title for letter in due(held, at)] == ["red: x"]
        held = failed(held, held[0], at)
    assert at < 600
    assert due(held, at) == [NEXT]
    assert [letter.title for letter in due(held, held[0].not_before)] == ["red: x"], "it is tried again all the same"


def test_an_end_takes_the_place_of_a_beginning_that_was_not_delivered() -> None:
    held = post(post((), [RED, NEXT]), [OVER])
    assert held == (NEXT, OVER)


def test_an_end_of_what_was_told_is_told() -> None:
    assert post(delivered(post((), [RED]), RED), [OVER]) == (OVER,)


def test_what_waits_for_the_morning_holds_up_nothing_else() -> None:
    asleep = replace(RED, not_before=1000)
    held = post((), [asleep, NEXT])
    assert due(held, 0) == [NEXT]
    assert due(delivered(held, NEXT), 1000) == [asleep]
