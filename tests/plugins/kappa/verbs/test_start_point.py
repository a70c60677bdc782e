"""Where a version starts: exact at a window edge, or refused."""

from __future__ import annotations

import re

import pytest

from kappa.core.job_catalog import MINUTE_MS
from kappa.core.requests.lifecycle import START
from kappa.verbs.start_point import InvalidStart, LogHead, LogTooShort, StartPoint, start_ms

BOUND = 5 * MINUTE_MS
NOW = 1_800_000_000_000 // MINUTE_MS * MINUTE_MS + 10_000
EDGE = NOW - 10_000
WHOLE = LogHead({0: 0, 1: 0}, {0: 5, 1: None})


def iso(ms: int) -> str:
    """A start as it is asked for."""
    return StartPoint("", ms, {}).starts_at.isoformat()  # type: ignore[union-attr]


def cut(*appended: int | None) -> LogHead:
    """A log of which every partition has lost its first 7 records."""
    return LogHead(dict.fromkeys(range(len(appended)), 7), dict(enumerate(appended)))


def test_earliest_of_a_whole_log_starts_with_the_log() -> None:
    assert start_ms("earliest", WHOLE, NOW, BOUND) is None


def test_earliest_of_a_cut_log_is_the_next_edge_after_the_latest_beginning_and_the_future_bound() -> None:
    head = cut(EDGE - 3_600_000, EDGE - 1_800_000 + 1)
    assert start_ms("earliest", head, NOW, BOUND) == EDGE - 1_800_000 + BOUND + MINUTE_MS


def test_a_beginning_exactly_on_an_edge_needs_no_further_minute() -> None:
    assert start_ms("earliest", cut(EDGE - 1_800_000), NOW, BOUND) == EDGE - 1_800_000 + BOUND


def test_a_partition_that_was_never_cut_asks_for_nothing() -> None:
    head = LogHead({0: 0, 1: 7}, {0: NOW, 1: EDGE - 1_800_000})
    assert start_ms("earliest", head, NOW, BOUND) == EDGE - 1_800_000 + BOUND


def test_a_cut_and_empty_partition_begins_now() -> None:
    assert start_ms("earliest", cut(None), NOW, BOUND) == EDGE + BOUND + MINUTE_MS


def test_latest_is_the_next_edge() -> None:
    assert start_ms("latest", WHOLE, NOW, BOUND) == EDGE + MINUTE_MS
    assert start_ms("latest", WHOLE, EDGE, BOUND) == EDGE


def test_a_time_that_the_log_reaches_back_to_is_taken_as_it_is() -> None:
    head = cut(EDGE - 1_800_000)
    assert start_ms(iso(EDGE - 1_800_000 + BOUND), head, NOW, BOUND) == EDGE - 1_800_000 + BOUND


def test_a_time_that_needs_more_log_than_there_is_is_refused_with_the_smallest_exact_one() -> None:
    with pytest.raises(LogTooShort, match=re.escape("'earliest' means that")):
        start_ms(iso(EDGE - 1_800_000 + BOUND - MINUTE_MS), cut(EDGE - 1_800_000), NOW, BOUND)


@pytest.mark.parametrize("asked", ["soon", "2026-01-31T09:30", "2026-01-31T09:30:07Z", "2999-01-01T00:00Z"])
def test_what_is_no_full_minute_of_the_past_with_its_zone_is_refused(asked: str) -> None:
    with pytest.raises(InvalidStart):
        start_ms(asked, WHOLE, NOW, BOUND)


@pytest.mark.parametrize("asked", ["1969-12-31T23:59Z", "0001-01-01T00:00Z", "0001-01-01T00:00+14:00"])
@pytest.mark.parametrize("head", [WHOLE, cut(EDGE)])
def test_a_time_before_there_are_event_times_is_refused(asked: str, head: LogHead) -> None:
    with pytest.raises(InvalidStart, match=re.escape(f"start '{asked}' lies before 1970")):
        start_ms(asked, head, NOW, BOUND)


def test_the_first_event_time_there_can_be_is_a_start() -> None:
    assert start_ms("1970-01-01T00:00Z", WHOLE, NOW, BOUND) == 0


def test_a_start_survives_json() -> None:
    start = StartPoint("latest", EDGE, {0: 3, 1: 9})
    assert StartPoint.from_json(start.to_json()) == start


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ("earliest", True),
        ("2026-01-31T09:30Z", True),
        ("2026-01-31 09:30+01:00", True),
        ("2026-01-31", False),
    ],
)
def test_the_form_takes_what_the_plan_takes(asked: str, fits: bool) -> None:
    assert bool(re.match(START, asked)) is fits
