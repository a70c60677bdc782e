"""Following an engine from outside: until all is shown, or it has ended, or the time is over."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import pytest

from bench.live import Database
from bench.peers import measure, tables
from bench.peers.engines import Engine, Peer
from bench.peers.processes import PeerEnded
from kappa.core.refusals import Refusal


class Shows:
    """A database whose table holds another count at each look."""

    def __init__(self, *counts: int) -> None:
        self.counts, self.asked = list(counts), ""

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The next count; the last one for ever."""
        self.asked = statement
        return [(self.counts.pop(0) if len(self.counts) > 1 else self.counts[0],)]


class Ended(Peer):
    """An engine that has ended by itself."""

    def check(self) -> None:
        """Says so."""
        raise PeerEnded(self.name, 1, Path("x.log"))


ENGINE = Peer("peer", (), lambda _: [])


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "LOOK_SECONDS", 0.0)


def follow(shows: Shows, engine: Engine = ENGINE, base: int = 0, all_of_it: int = 10) -> list[tuple[float, int]]:
    """Follow it for a second at most."""
    return measure._follow(cast("Database", shows), engine, base, all_of_it, time.time(), 1.0)


def test_it_ends_with_the_look_that_shows_everything() -> None:
    shows = Shows(0, 4, 10, 11)
    assert [counted for _, counted in follow(shows)] == [0, 0, 4, 10]
    assert shows.asked == tables.COUNTED.format(tables.NAME)


def test_what_was_there_before_does_not_count() -> None:
    assert [counted for _, counted in follow(Shows(100, 110), base=100)] == [0, 0, 10]


def test_one_that_stays_behind_is_given_up_with_what_it_showed() -> None:
    with pytest.raises(measure.NotShown, match="'peer' did not show all 10 events that count, but 9 within 1 s"):
        follow(Shows(9))


def test_one_that_ended_is_not_waited_for() -> None:
    begun = time.monotonic()
    with pytest.raises(Refusal, match="ended with 1"):
        follow(Shows(0), Ended("peer", (), lambda _: []))
    assert time.monotonic() - begun < 0.5
