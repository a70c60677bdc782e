"""When a driver has one batch evict the windows that the watermark has closed, and how it has it do so.

Spark evicts by a walk over the whole state, and would do so in every batch (decision 0017). The Java class
`kappa.Eviction` has it do so in one (decision 0096). All times are epoch ms.
"""

from __future__ import annotations

import random
from typing import Any, Protocol

from pyspark.sql import SparkSession

from jobs.sinks.batch_sink import Committed

SHARES = (0.8, 1.0)
"""Of the delay: how much must have closed. Drawn anew each time, or jobs that start together would evict together."""


class Evictor(Protocol):
    """Who has a batch evict."""

    def ask(self) -> None:
        """Have the batch that is planned next evict."""

    def is_asked(self) -> bool:
        """Whether no batch has been planned since it was asked for."""


class SparkEvictor:
    """The process's only evictor, for all its queries."""

    def __init__(self, spark: SparkSession) -> None:
        assert spark._jvm is not None, "a session has a JVM"
        self._java: Any = spark._jvm.kappa.Eviction

    def ask(self) -> None:
        """Have the batch that is planned next evict."""
        self._java.ask()

    def is_asked(self) -> bool:
        """Whether no batch has been planned since it was asked for."""
        return bool(self._java.isAsked())


class Eviction:
    """Has a batch evict soon after the start of a driver, since nobody knows when the last one did, and as windows
    close. The windows that are open span about the watermark's delay; of those that closed, no more than as much again
    is kept."""

    def __init__(self) -> None:
        self._share, self._closed_from_ms = 0.0, 0
        self._is_asked, self._planned_after = False, -1
        self._first: int | None = None

    def look(self, evictor: Evictor, committed: Committed, delay_ms: int) -> bool:
        """Ask for an eviction where one is due, by the newest batch of the query; whether a batch has evicted since.

        The first batch of a query does not evict, and the second of a driver: whoever waits for them has waited for a
        start, and a driver's first may be one that the driver before had planned, without a record that came since.
        """
        if committed.batch_id is None:
            return False
        self._first = committed.batch_id if self._first is None else self._first
        if committed.batch_id == self._first:
            return False
        if not self._is_asked:
            self._is_asked = self._is_due(committed.watermark_ms or 0, delay_ms)
            if self._is_asked:
                evictor.ask()
            return False
        if self._planned_after < 0:
            self._planned_after = -1 if evictor.is_asked() else committed.batch_id
            return False
        return committed.batch_id > self._planned_after and self._done()

    def again(self) -> None:
        """The query ended, and the batch that was to evict may not have been committed: the next query's is to."""
        if self._is_asked:
            self._share, self._is_asked, self._planned_after = 0.0, False, -1

    def _is_due(self, watermark_ms: int, delay_ms: int) -> bool:
        """A watermark of 0 has not been set."""
        self._closed_from_ms = self._closed_from_ms or watermark_ms
        return watermark_ms - self._closed_from_ms >= delay_ms * self._share

    def _done(self) -> bool:
        self._share, self._closed_from_ms = random.uniform(*SHARES), 0
        self._is_asked, self._planned_after = False, -1
        return True
