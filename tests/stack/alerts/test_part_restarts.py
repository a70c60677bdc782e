"""A part that ends again and again, and runs for longer than a start takes: told once, and once when it stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from stack.alerts.part_restarts import MINUTES
from stack.status.overview import of_stack
from stack.supervision import Process
from tests.stack.alerts.receiver import Receiver
from tests.stack.alerts.watch import WELL, Watch

SPARK = "a part of Spark does not run: spark-worker"
LONG = MINUTES * 60 + 60


class Parts:
    """A stack of which somebody looks every five seconds."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.up()

    def up(self) -> None:
        """All of them are started now."""
        self.started = dict.fromkeys(("postgres", "kafka", "monitor", "spark-worker"), self.watch.at)

    def go(self, seconds: float) -> None:
        """All run."""
        self._see(seconds, {})

    def end(self, part: str, times: int, lives: float = 30.0) -> None:
        """A part ends, is seen to be away once, is started again and runs for so long; so many times."""
        for _ in range(times):
            self._see(5, {part: "BACKOFF"})
            self.started[part] = self.watch.at
            self.go(lives)

    def _see(self, seconds: float, states: dict[str, str]) -> None:
        processes = [
            Process(name, 1, states.get(name, "RUNNING"), datetime.fromtimestamp(at, UTC))
            for name, at in self.started.items()
        ]
        self.watch.see(seconds, replace(WELL, processes=processes, red=of_stack(processes, [])))


@pytest.fixture
def parts_seen(watch: Watch) -> Parts:
    """One that runs since ten minutes."""
    made = Parts(watch)
    made.go(LONG)
    return made


def test_a_part_that_ends_again_and_again_is_told_once_and_that_it_stays_once(
    parts_seen: Parts, hook: Receiver
) -> None:
    parts_seen.end("spark-worker", 20)
    assert hook.titles == [f"red: {SPARK}"]
    assert "What: process spark-worker ends again and again" in hook.told[0]["message"]
    parts_seen.go(LONG)
    assert hook.titles == [f"red: {SPARK}", f"over: {SPARK}"]


@pytest.mark.parametrize(
    ("part", "times", "lives"), [("spark-worker", 2, 30), ("spark-worker", 9, 300), ("monitor", 9, 30)]
)
def test_of_a_few_restarts_or_the_monitor_nobody_is_told(
    parts_seen: Parts, hook: Receiver, part: str, times: int, lives: float
) -> None:
    parts_seen.end(part, times, lives)
    assert hook.titles == []


def test_a_restart_of_the_monitor_forgets_no_start(parts_seen: Parts, hook: Receiver) -> None:
    parts_seen.end("spark-worker", 4)
    parts_seen.watch.start()
    parts_seen.go(120)
    assert hook.titles == [f"red: {SPARK}"]


def test_a_stack_that_somebody_starts_anew_is_not_one_that_ends_again_and_again(
    parts_seen: Parts, hook: Receiver
) -> None:
    for _ in range(6):
        parts_seen.up()
        parts_seen.watch.start()
        parts_seen.go(60)
    assert hook.titles == []
