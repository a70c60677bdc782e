"""A span of each day, as settings tell it: "22:00-07:00", which may go over midnight."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time

_TEXT = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class DaySpan:
    """From one time of the day until just before another."""

    begins: time
    ends: time

    def __contains__(self, now: time) -> bool:
        if self.begins <= self.ends:
            return self.begins <= now < self.ends
        return now >= self.begins or now < self.ends


def parse(text: str) -> DaySpan | None:
    """The span that a text tells; None where it tells none."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    hours = [int(part) for part in found.groups()]
    return DaySpan(time(hours[0], hours[1]), time(hours[2], hours[3]))
