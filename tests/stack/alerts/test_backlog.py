"""A backlog that grows for ten minutes, told from one that is worked off or was not looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stack.alerts.backlog import GAP_SECONDS, Backlogs

Lag = Callable[[float], tuple[int, float]]


def growing(lag: Lag, minutes: float, gap: tuple[float, float] = (0, 0), **more: Any) -> list[str]:
    """What is said at the end of so many minutes of looks, none between the minutes of `gap`; `lag` gives records and
    seconds by minute."""
    backlogs, second = Backlogs(), 0.0
    while second <= minutes * 60:
        if not gap[0] * 60 < second < gap[1] * 60:
            events, seconds = lag(second / 60)
            version = {"job": "ad_ctr", "version": 3, "serves": True, "desired": "running"}
            backlogs.take(second, [{**version, "lag_events": events, "lag_seconds": seconds, **more}])
        second += 5
    return [found.sentence for found in backlogs.growing(second - 5)]


def test_a_backlog_that_grows_for_ten_minutes_is_told_with_its_figures() -> None:
    (said,) = growing(lambda minute: (int(6000 * minute) + 1000, 90 + 30 * minute), 10)
    assert said == (
        "ad_ctr v3 falls behind: 61,000 records are unread, 1,000 were 10 min ago (+100.0 records/s); the oldest is 6 "
        "min old"
    )


@pytest.mark.parametrize(
    ("lag", "minutes"),
    [
        (lambda minute: (int(6000 * minute), 90.0), 9.9),
        (lambda minute: (int(600_000 - 6000 * minute), 900 - 30 * minute), 20),
        (lambda minute: (int(6000 * minute), 55.0), 20),
        (lambda minute: (int(6000 * minute), 0.0 if 14.9 < minute < 15 else 90.0), 20),
        (lambda minute: (70_000, 90.0), 20),
    ],
    ids=["not ten minutes yet", "is worked off", "less than a minute", "was caught up in between", "stays as it is"],
)
def test_what_is_no_backlog_that_grows(lag: Lag, minutes: float) -> None:
    assert growing(lag, minutes) == []


def test_what_nobody_looked_at_is_not_judged() -> None:
    assert growing(lambda minute: (int(6000 * minute), 90.0), 16, gap=(8, 12)) == []


@pytest.mark.parametrize("more", [{"serves": False}, {"desired": "stopped"}])
def test_only_what_serves_and_is_wanted_is_told(more: dict[str, Any]) -> None:
    assert growing(lambda minute: (int(6000 * minute), 90.0), 12, **more) == []


def test_whether_a_backlog_grows_is_known_after_ten_minutes_without_a_gap_or_a_clock_that_is_put_back() -> None:
    backlogs = Backlogs()
    assert not backlogs.are_known(0)
    for start in (0, 600 + GAP_SECONDS, 300):
        assert known(backlogs, start) == [start + 600]


def known(backlogs: Backlogs, start: float) -> list[float]:
    """At which of the looks of ten minutes, five seconds apart, it is known."""
    found = []
    for at in (start + second for second in range(0, 601, 5)):
        backlogs.take(at, [])
        found += [at] if backlogs.are_known(at) else []
    return found
