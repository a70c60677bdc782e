"""How long records take from their append to where readers see them, told from what the registry keeps of each look.

The registry has, of each version, up to which append time every partition was read, the newest append time that was
read, and when the newest batch was committed. Between two looks, what was newly read was appended after the first
look's `through` and at or before the second look's `newest`, and became visible at `committed`. So each look is a
stretch of latencies with a number of records; records within it are taken to have come evenly. Where nobody looked for
a while nothing is told: of the commits between two looks only the newest is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

APART_SECONDS = 5.0
"""Looks that are further apart tell nothing of what was read between them."""


@dataclass(frozen=True)
class Look:
    """A version at one moment, times in epoch seconds: `batch` its newest one, `records` all that it has read. None
    where it has not read anything yet."""

    at: float
    batch: int | None
    committed: float | None
    newest: float | None
    through: float | None
    records: int
    lag_events: int
    lag_seconds: float


@dataclass(frozen=True)
class Stretch:
    """So many records took between `least` and `most` seconds."""

    least: float
    most: float
    records: int


def watched(looks: Sequence[Look]) -> list[tuple[Look, Look]]:
    """The pairs of looks, in order, between which nothing was missed."""
    return [(before, after) for before, after in pairwise(looks) if after.at - before.at <= APART_SECONDS]


def watched_seconds(looks: Sequence[Look]) -> float:
    """How long that was in all."""
    return sum(after.at - before.at for before, after in watched(looks))


def stretches(looks: Sequence[Look]) -> list[Stretch]:
    """One for each watched pair of looks between which something was committed, in order."""
    found = []
    for before, after in watched(looks):
        records = after.records - before.records
        if records <= 0 or after.committed is None or after.newest is None:
            continue
        least = max(0.0, after.committed - after.newest)
        since = before.through if before.through is not None else after.newest
        found.append(Stretch(least, max(least, after.committed - since), records))
    return found


def quantile(stretches: Sequence[Stretch], share: float) -> float | None:
    """The seconds that this share of the records took at most; None without records."""
    total = sum(stretch.records for stretch in stretches)
    if not total:
        return None
    wanted, below, low = share * total, 0.0, 0.0
    for high in sorted({edge for stretch in stretches for edge in (stretch.least, stretch.most)}):
        short = sum(_below(stretch, high) for stretch in stretches)
        if wanted < short:
            return low + (high - low) * (wanted - below) / (short - below)
        low = high
        below = sum(stretch.records if stretch.most <= high else _below(stretch, high) for stretch in stretches)
        if wanted <= below:
            return high
    return low


def _below(stretch: Stretch, seconds: float) -> float:
    """How many of its records took less than that."""
    if seconds <= stretch.least:
        return 0.0
    if seconds >= stretch.most:
        return stretch.records
    return stretch.records * (seconds - stretch.least) / (stretch.most - stretch.least)
