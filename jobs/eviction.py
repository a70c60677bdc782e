"""When a driver's query gives way to one batch that evicts the windows that the watermark has closed.

Spark evicts by a walk over the whole state, and would do so in every batch (decision 0017). All times are epoch ms,
`seconds` are a monotonic clock's.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

QUIET_SECONDS = 300.0
"""An eviction interrupts the query for seconds: not more often than this, unless the state would double."""
SHARES = (0.4, 0.6)
"""Of the delay: how much must have closed. Drawn anew each time, or jobs that start together would evict together."""


@dataclass
class Eviction:
    """Whether an eviction is due; it is at the start of a driver, since nobody knows when the last one was."""

    due: bool = True
    _done_at: float = 0.0
    _watermark_ms: int = 0
    _share: float = 1.0

    def done(self, seconds: float) -> None:
        """Closed windows were evicted, or there was nothing to read, and without a record no batch runs."""
        self.due, self._done_at, self._watermark_ms = False, seconds, 0
        self._share = random.uniform(*SHARES)

    def look(self, watermark_ms: int | None, delay_ms: int, seconds: float) -> bool:
        """Whether the watermark of the newest batch makes one due; a watermark of 0 has not been set.

        The windows that are open span about `delay_ms`; of those that closed, no more than as much again is kept.
        """
        if watermark_ms:
            self._watermark_ms = self._watermark_ms or watermark_ms
            quiet = seconds - self._done_at < QUIET_SECONDS
            self.due = watermark_ms - self._watermark_ms >= delay_ms * (1.0 if quiet else self._share)
        return self.due
