"""A driver that stands by begins when it is called, and goes when it never will be."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from unittest.mock import Mock

import psycopg
import pytest

from jobs import standby
from jobs.driver.registry import DriverRegistry
from jobs.outcome import ParentGone
from jobs.standby import POLL_SECONDS, wait_for_call
from kappa.core.installation.settings import Settings

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


class Answered:
    """A launch that has an answer at once, for `Watch`."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer

    def __call__(self, *_: object) -> Answered:
        return self

    def _do_nothing(self, *_: object, **__: object) -> None:
        """There is nothing to wait for, and nobody to tell."""

    tell = wait = wait_while_far_behind = goes_on = close = _do_nothing


@pytest.mark.parametrize("takes_over", [True, False])
def test_who_takes_over_holds_back_what_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes_over: bool
) -> None:
    held, registry = Queue[tuple[object, ...]](), Mock(spec=DriverRegistry)
    registry.progress.return_value = ({}, {})
    monkeypatch.setattr(standby, "Watch", Answered(takes_over))
    monkeypatch.setattr(standby, "Priority", Mock())
    monkeypatch.setattr(standby, "_try_to_warm", lambda *_: None)
    monkeypatch.setattr(standby, "hold_back", lambda *given: held.put(given))
    assert standby.await_failover(Settings(tmp_path), registry, "launch-1", "driver-2") is takes_over
    if takes_over:
        assert held.get(timeout=10) == (os.getppid(), "launch-1", standby.HOLD_SECONDS)
    assert held.empty()


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
