"""When a driver's query gives way to one batch that evicts the windows that the watermark has closed.

Spark evicts by a walk over the whole state, and would do so in every batch (decision 0017). All times are epoch ms.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

SHARES = (0.8, 1.0)
"""Of the delay: how much must have closed. Drawn anew each time, or jobs that start together would evict together."""


@dataclass
class Eviction:
    """Whether an eviction is due; it is at the start of a driver, since nobody knows when the last one was."""

    due: bool = True
    _share: float = 1.0
    _watermark_ms: int = 0

    def done(self) -> None:
        """Closed windows were evicted, or there was nothing to read, and without a record no batch runs."""
        self.due, self._share, self._watermark_ms = False, random.uniform(*SHARES), 0

    def look(self, watermark_ms: int | None, delay_ms: int) -> bool:
        """Whether the watermark of the newest batch makes one due; a watermark of 0 has not been set.

        The windows that are open span about `delay_ms`; of those that closed, no more than as much again is kept.
        """
        if watermark_ms:
            self._watermark_ms = self._watermark_ms or watermark_ms
            self.due = watermark_ms - self._watermark_ms >= delay_ms * self._share
        return self.due
