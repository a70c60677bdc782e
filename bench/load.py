"""Synthetic traffic for the benches: the knobs of the issue, at once or in the background at a rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import TracebackType

from jobs.settings import Settings
from traffic.log import KafkaLog
from traffic.play import Played, SystemClock, play
from traffic.records import Record
from traffic.shape import Fractions, Shape
from traffic.sources import plan_synthetic

KNOBS = Fractions(out_of_order=0.05, resends=0.1, repeated_clicks=0.03, late=0.01, future=0.005, malformed=0.01)
"""A part of everything that a topic may hold."""

PATIENT = {"delivery.timeout.ms": 1_200_000}
"""The producer outlives a broker that is away for some minutes."""


def produce(settings: Settings, seed: int, records: int, span_seconds: float) -> Played:
    """Send `records` at full speed with event times over the last `span_seconds`."""
    plan = plan_synthetic(now_ms(), Shape(seed, records, fractions=KNOBS), span_seconds, None)
    return play(plan.records, KafkaLog(settings.kafka, settings.topic.name), SystemClock(), plan.paced)


def now_ms() -> int:
    """This machine's clock, epoch ms."""
    return time.time_ns() // 1_000_000


class Background:
    """Traffic at a rate on a thread of its own, from enter to exit, at most for `seconds`."""

    def __init__(self, settings: Settings, seed: int, rate: float, seconds: float, knobs: Fractions = KNOBS) -> None:
        self._settings, self._rate = settings, rate
        self._shape = Shape(seed, max(1, round(rate * seconds)), fractions=knobs)
        self._stop, self._begun = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._play, name="load", daemon=True)
        self.played: Played | None = None
        self.failure: BaseException | None = None

    def __enter__(self) -> Background:
        """Returns once the first record is made: drawing a block of traffic takes seconds of a whole core."""
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self.failure is not None and error is None:
            raise self.failure

    def _play(self) -> None:
        try:
            log = KafkaLog(self._settings.kafka, self._settings.topic.name, PATIENT)
            plan = plan_synthetic(now_ms(), self._shape, 0, self._rate)
            self.played = play(self._until_stopped(iter(plan.records)), log, SystemClock(), plan.paced)
        except BaseException as error:
            self.failure = error
        finally:
            self._begun.set()

    def _until_stopped(self, records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            self._begun.set()
            if self._stop.is_set():
                return
            yield record
