"""One snapshot for all who look: how often is read, and what becomes of those who come meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kappa.console.snapshots import KEPT, WAITING, Busy, Snapshots
from kappa.core.refusals import Refusal


class Time:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Reads:
    """Counts how often is read; each time takes so long."""

    def __init__(self, time: Time, takes: float = 0.0) -> None:
        self.time, self.takes, self.count = time, takes, 0

    def __call__(self) -> int:
        self.count += 1
        self.time.now += self.takes
        return self.count


def test_twenty_pages_are_one_read_a_second() -> None:
    time = Time()
    snapshots, reads = Snapshots(time), Reads(time)
    for tenth in range(100):
        time.now = tenth / 10
        for _ in range(20):
            snapshots.get("now", reads)
    assert reads.count <= 10


def test_what_takes_long_is_read_seldom() -> None:
    time = Time()
    snapshots, reads = Snapshots(time), Reads(time, takes=2.0)
    assert snapshots.get("numbers", reads).value == 1
    time.now += 19
    assert snapshots.get("numbers", reads).value == 1
    time.now += 2
    assert snapshots.get("numbers", reads).value == 2


def test_a_snapshot_is_as_old_as_the_begin_of_its_read() -> None:
    time = Time()
    snapshots, reads = Snapshots(time), Reads(time, takes=2.0)
    assert snapshots.get("numbers", reads).age == 2
    time.now += 19
    assert snapshots.get("numbers", reads).age == 21


def test_a_refusal_is_told_to_all_and_not_tried_again_at_once() -> None:
    time = Time()
    snapshots, tried = Snapshots(time), []

    def refuses() -> None:
        tried.append(1)
        raise Refusal("Postgres is away")

    for _ in range(5):
        with pytest.raises(Refusal, match="away"):
            snapshots.get("now", refuses)
    assert len(tried) == 1


def test_a_defect_is_no_snapshot() -> None:
    snapshots = Snapshots(Time())
    with pytest.raises(ZeroDivisionError):
        snapshots.get("now", lambda: 1 // 0)
    assert snapshots.get("now", lambda: 7).value == 7


def test_those_who_come_together_wait_for_one_read_and_too_many_are_sent_away() -> None:
    snapshots, gate, begun = Snapshots(), threading.Event(), threading.Event()
    count = []

    def slow() -> int:
        count.append(1)
        begun.set()
        assert gate.wait(20)
        return 1

    def ask() -> object:
        try:
            return snapshots.get("now", slow, 60).value
        except Busy as busy:
            return busy

    with ThreadPoolExecutor(WAITING + 4) as pool:
        first = pool.submit(ask)
        assert begun.wait(20)
        rest = [pool.submit(ask) for _ in range(WAITING + 3)]
        away = _until(lambda: [one for one in rest if one.done()], 4)
        gate.set()
        told = [one.result(20) for one in [first, *rest]]
    assert len(away) == 4
    assert told.count(1) == WAITING
    assert len(count) == 1


def test_only_so_many_are_kept() -> None:
    time = Time()
    snapshots = Snapshots(time)
    for key in range(KEPT + 10):
        snapshots.get(key, lambda: 0, 3600)
    assert len(snapshots._held) == KEPT


def _until(found: Callable[[], list[Any]], many: int) -> list[Any]:
    """What is found once there are so many."""
    for _ in range(2_000):
        if len(found()) >= many:
            break
        threading.Event().wait(0.01)
    return found()
