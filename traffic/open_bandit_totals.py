"""What the Open Bandit log must come to, summed straight from its CSV files by code of its own."""

from __future__ import annotations

import csv

from traffic.open_bandit import files

_THOUSAND_IMPRESSIONS_COST = {"1": 3_000_000, "2": 2_500_000, "3": 2_000_000}
_CLICK_COSTS = 250_000


def expected_totals() -> dict[str, tuple[int, int, int]]:
    """campaign -> (impressions, clicks, spend in micros), 60,000 and 287 in all. Raises Refusal where it is absent."""
    totals: dict[str, tuple[int, int, int]] = {}
    for _, campaign, file in files():
        with file.open(newline="") as lines:
            for row in csv.DictReader(lines):
                impressions, clicks, micros = totals.get(campaign, (0, 0, 0))
                clicked = int(row["click"])
                cost = _THOUSAND_IMPRESSIONS_COST[row["position"]] // 1000 + clicked * _CLICK_COSTS
                totals[campaign] = (impressions + 1, clicks + clicked, micros + cost)
    return totals
