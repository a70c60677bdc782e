"""A driver that stands by begins when it is called, and goes when it never will be."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from jobs.outcome import ParentGone
from jobs.standby import POLL_SECONDS, wait_for_call

AWAY = psycopg.OperationalError("the server closed the connection")


def _answers(*answers: bool | Exception | None) -> Callable[[], bool | None]:
    """A registry that answers so, one after the other."""
    coming: Iterator[bool | Exception | None] = iter(answers)

    def call() -> bool | None:
        answer = next(coming)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return call


def _still_there() -> None:
    """The parent lives."""


@pytest.mark.parametrize("answer", [True, False])
def test_it_waits_until_there_is_an_answer(answer: bool) -> None:
    slept: list[float] = []
    assert wait_for_call(_answers(None, None, answer), _still_there, slept.append) is answer
    assert slept == [POLL_SECONDS] * 2


def test_a_database_that_is_away_is_asked_again() -> None:
    assert wait_for_call(_answers(AWAY, None, AWAY, True), _still_there, lambda _: None)


def test_it_goes_with_its_parent() -> None:
    lives = iter([True, True, False])

    def check() -> None:
        if not next(lives):
            raise ParentGone("process 7 is gone")

    with pytest.raises(ParentGone):
        wait_for_call(_answers(None, None, True), check, lambda _: None)
