"""Tells a backlog that grows for minutes from one that is worked off, by the lags of the last looks."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MINUTES = 10
LEAST_LAG_SECONDS = 60.0
"""A lag below this is none, however it moves."""
GAP_SECONDS = 120.0
"""Of looks further apart than this nobody knows what was between them."""


@dataclass(frozen=True)
class Lag:
    """How far behind a version was at one look: `at` in epoch seconds, `events` unread, the oldest so many `seconds`
    old."""

    at: float
    events: int
    seconds: float


@dataclass(frozen=True)
class Growing:
    """A version whose backlog grows."""

    name: str
    sentence: str
    since: float


class Backlogs:
    """The lags of the versions that serve, as far back as a judgement needs them."""

    def __init__(self) -> None:
        self._lags: dict[str, deque[Lag]] = {}
        self._first, self._newest = math.inf, -math.inf

    def take(self, at: float, versions: Iterable[dict[str, Any]]) -> None:
        """Remember what a look saw; a version that does not serve is forgotten, and over a gap they all are."""
        if not self._newest <= at < self._newest + GAP_SECONDS:
            self._first, self._lags = at, {}
        self._newest = at
        serving = {f"{v['job']} v{v['version']}": v for v in versions if v["serves"] and v["desired"] == "running"}
        self._lags = {name: self._lags.get(name, deque()) for name in serving}
        for name, version in serving.items():
            lags = self._lags[name]
            lags.append(Lag(at, version["lag_events"] or 0, version["lag_seconds"] or 0.0))
            while lags and lags[0].at < at - MINUTES * 60 - GAP_SECONDS:
                lags.popleft()

    def are_known(self, at: float) -> bool:
        """Whether looks without a gap cover the ten minutes up to this moment; before, nobody knows what grows."""
        return self._first <= at - MINUTES * 60

    def growing(self, at: float) -> list[Growing]:
        """The versions whose backlog has grown for ten minutes up to this moment."""
        return [
            Growing(name, _sentence(name, recent), recent[0].at)
            for name, lags in self._lags.items()
            if is_growing(recent := [lag for lag in lags if lag.at >= at - MINUTES * 60], lags, at)
        ]


def is_growing(recent: Sequence[Lag], lags: Sequence[Lag], at: float) -> bool:
    """Whether a version never was less than a minute behind in the last ten, and its unread records grew over them (by
    the line that fits them best). What was not looked at for all that time is not judged."""
    whole = bool(lags) and lags[0].at <= at - MINUTES * 60
    return whole and all(lag.seconds > LEAST_LAG_SECONDS for lag in recent) and slope(recent) > 0


def slope(lags: Sequence[Lag]) -> float:
    """By how many records each second the unread ones grow: the slope of least squares."""
    count = len(lags)
    mean_at, mean_events = sum(lag.at for lag in lags) / count, sum(lag.events for lag in lags) / count
    spread = sum((lag.at - mean_at) ** 2 for lag in lags)
    return sum((lag.at - mean_at) * (lag.events - mean_events) for lag in lags) / spread if spread else 0.0


def _sentence(name: str, recent: Sequence[Lag]) -> str:
    first, last = recent[0], recent[-1]
    return (
        f"{name} falls behind: {last.events:,} records are unread, {first.events:,} were {MINUTES} min ago "
        f"({slope(recent):+,.1f} records/s); the oldest is {last.seconds / 60:.0f} min old"
    )
