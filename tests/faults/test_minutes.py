"""A line for each minute: what was seen within it, and what was so at its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tests.faults.crash_loop import has_given_up, is_well
from tests.faults.minutes import Sample, by_minute

WELL = Sample(0.0, "LIVE", "running", "aaaa", 0.5, 3, 10, 1.0, datetime(2026, 1, 1, 12, 0, tzinfo=UTC), 100)


def test_a_minute_says_what_followed_in_it_and_what_was_at_its_end() -> None:
    silent = replace(WELL, at_s=30, beat_s=31.0)
    worse = replace(WELL, at_s=50, artifact="bbbb", beat_s=2.0, epoch=5, lag_events=900, counted=150, red=["silent"])
    over = replace(WELL, at_s=61, state="FAILED", artifact="bbbb", epoch=6, repairs=1, counted=150, red=["failed"])
    first, second = by_minute([WELL, silent, worse, over])
    assert (first.minute, first.artifacts, first.states) == (0, "aaaa -> bbbb", "LIVE")
    assert (first.beat_s, first.starts, first.counted, first.lag_events, first.red) == (31.0, 2, 50, 900, "silent")
    assert (second.minute, second.states, second.starts, second.repairs, second.counted) == (1, "FAILED", 1, 1, 0)
    assert second.newest == "12:00"


def test_a_minute_in_which_nothing_was_seen_has_no_line() -> None:
    assert [line.minute for line in by_minute([WELL, replace(WELL, at_s=130)])] == [0, 2]
    assert by_minute([]) == []


def test_a_version_has_given_up_when_it_is_failed_and_red() -> None:
    failed = replace(WELL, state="FAILED", red=["failed"])
    assert has_given_up(failed)
    assert not has_given_up(replace(failed, red=[]))
    assert not has_given_up(replace(failed, state="LIVE"))


def test_a_job_is_well_when_it_beats_is_not_red_and_is_close_to_the_end() -> None:
    assert is_well(WELL)
    assert not is_well(replace(WELL, beat_s=30.0))
    assert not is_well(replace(WELL, beat_s=None))
    assert not is_well(replace(WELL, red=["silent"]))
    assert not is_well(replace(WELL, lag_s=60.0))
