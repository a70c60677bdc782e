"""Synthetic traffic for the benches: the knobs of the issue, at once or in the background at a rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Self

from bench.beside import Beside
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from traffic.log import KafkaLog
from traffic.play import Played, SystemClock, play
from traffic.records import Record
from traffic.shape import Fractions, Shape
from traffic.sources import plan_synthetic

KNOBS = Fractions(out_of_order=0.05, resends=0.1, repeated_clicks=0.03, late=0.01, future=0.005, malformed=0.01)
"""A part of everything that a topic may hold."""

PATIENT = {"delivery.timeout.ms": 1_200_000}
"""The producer outlives a broker that is away for some minutes."""


BEGINS_WITHIN = 300.0
"""Seconds; a block of traffic is drawn in a few on an idle machine."""


class NoTraffic(Refusal):
    """The traffic in the background did not begin."""

    def __init__(self) -> None:
        super().__init__(f"the load has made no record within {BEGINS_WITHIN:g} s; the body was not run.")


def produce(settings: Settings, seed: int, records: int, span_seconds: float) -> Played:
    """Send `records` at full speed with event times over the last `span_seconds`."""
    plan = plan_synthetic(now_ms(), Shape(seed, records, fractions=KNOBS), span_seconds, None)
    return play(
        plan.records,
        KafkaLog(settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), settings.topic.name),
        SystemClock(),
        plan.paced,
    )


def now_ms() -> int:
    """This machine's clock, epoch ms."""
    return time.time_ns() // 1_000_000


class Background(Beside):
    """Traffic at a rate on a thread of its own, from enter to exit, at most for `seconds`; `options` are the
    producer's."""

    def __init__(
        self,
        settings: Settings,
        seed: int,
        rate: float,
        seconds: float,
        knobs: Fractions = KNOBS,
        options: Mapping[str, int] = PATIENT,
    ) -> None:
        super().__init__("load")
        self._settings, self._rate, self._options, self._begun = settings, rate, options, threading.Event()
        self._shape = Shape(seed, max(1, round(rate * seconds)), fractions=knobs)
        self.played: Played | None = None

    def __enter__(self) -> Self:
        """Returns once the first record is made: drawing a block of traffic takes seconds of a whole core. Raises
        NoTraffic."""
        super().__enter__()
        if not self._begun.wait(BEGINS_WITHIN):
            self.stopping.set()
            raise NoTraffic
        return self

    def work(self) -> None:
        """Play until it is enough."""
        try:
            access = self._settings.kafka_access(KafkaUser.PRODUCER).librdkafka()
            log = KafkaLog(access, self._settings.topic.name, dict(self._options))
            plan = plan_synthetic(now_ms(), self._shape, 0, self._rate)
            self.played = play(self._until_stopped(iter(plan.records)), log, SystemClock(), plan.paced)
        finally:
            self._begun.set()

    def _until_stopped(self, records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            self._begun.set()
            if self.stopping.is_set():
                return
            yield record
