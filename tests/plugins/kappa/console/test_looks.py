"""What *Now* keeps between looks, and the lines it makes of minutes."""

from __future__ import annotations

from itertools import pairwise

from kappa.console.latency import Look
from kappa.console.now import HOURS, LOOK_SECONDS, TREND_SECONDS, Trend, by_version, thinned


def look(at: float) -> Look:
    return Look(at, None, None, None, None, 0, 5, 1.0)


def test_old_looks_are_thinned_out_and_new_ones_are_all_kept() -> None:
    kept: list[Look] = []
    for second in range(1_000):
        kept = thinned([*kept, look(second)], second)
    ages = [999 - each.at for each in kept]
    assert sum(age <= LOOK_SECONDS for age in ages) == LOOK_SECONDS + 1
    old = [age for age in ages if age > LOOK_SECONDS]
    assert len(old) <= (1_000 - LOOK_SECONDS) / TREND_SECONDS + 1
    assert all(before - after >= TREND_SECONDS for before, after in pairwise(old))


def test_minutes_in_which_nothing_was_committed_are_nought() -> None:
    rows = [
        {"job": "ad_ctr", "version": 1, "minute": minute, "read": 7, "rows": 2, "batches": 1} for minute in (60, 240)
    ]
    told = by_version(rows, {("ad_ctr", 1): [look(9.0)]}, 420)["ad_ctr v1"]
    assert told["minute"] == [60, 120, 180, 240, 300, 360], "up to the one before the present, which is not over"
    assert (told["read"], told["batches"]) == ([7, 0, 0, 7, 0, 0], [1, 0, 0, 1, 0, 0])
    assert told["lag"] == {"at": [9.0], "events": [5], "seconds": [1.0]}


def test_a_version_that_committed_nothing_has_noughts_since_it_was_first_seen() -> None:
    told = by_version([], {("ad_ctr", 1): [look(65.0), look(130.0)], ("ad_ctr", 2): []}, 240)
    assert list(told) == ["ad_ctr v1"]
    assert (told["ad_ctr v1"]["minute"], told["ad_ctr v1"]["read"]) == ([60, 120, 180], [0, 0, 0])


def test_a_version_that_was_last_seen_before_the_hours_began_has_no_lines() -> None:
    assert by_version([], {("ad_ctr", 1): [look(65.0)]}, 65 + (HOURS + 1) * 3_600) == {}


def test_the_trend_keeps_a_point_every_few_seconds_for_as_long_as_the_lines_go() -> None:
    trend = Trend()
    for second in range(0, (HOURS + 1) * 3_600):
        row = {"state_rows": second, "batch_ms": 400, "action_ms": 310}
        trend.add(float(second), row, {"p50": None, "p99": 2.0})
    told = trend.columns()
    assert set(told) == {"at", "p50", "p99", "state_rows", "batch_ms", "action_ms"}
    assert (len(told["at"]), told["at"][-1]) == (HOURS * 3_600 / TREND_SECONDS, (HOURS + 1) * 3_600 - TREND_SECONDS)
    assert (told["p50"][0], told["p99"][0], told["action_ms"][0]) == (None, 2.0, 310)
    assert told["state_rows"] == told["at"]
