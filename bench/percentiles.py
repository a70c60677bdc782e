"""Percentiles by nearest rank: always a value that was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """The least value that at least `percent` of all values do not exceed; `values` must not be empty."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(percent / 100 * len(ordered))) - 1]


def summary(values: Sequence[float]) -> dict[str, float | int | None]:
    """`count`, `p50`, `p90`, `p99` and `max`, in the unit of the values; None where there are none."""
    if not values:
        return {"count": 0, "p50": None, "p90": None, "p99": None, "max": None}
    return {
        "count": len(values),
        **{f"p{percent}": round(percentile(values, percent), 1) for percent in (50, 90, 99)},
        "max": round(max(values), 1),
    }
