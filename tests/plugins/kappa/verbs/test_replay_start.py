"""T of a replay: one edge for all jobs, exact in the log, and not before what is final."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from kappa.core.job_catalog import JOBS, MINUTE_MS
from kappa.core.refusals import Refusal
from kappa.verbs.start_point import (
    InvalidStart,
    LogHead,
    LogTooShort,
    NoExactStart,
    StartNotFinal,
    replay_start_ms,
    utc,
)
from tests.plugins.replay_plans import (
    BOTH,
    HOUR_MS,
    NOW,
    T,
    found,
)

HEAD = LogHead({0: 7, 1: 0}, {0: T - 2 * HOUR_MS - 5 * MINUTE_MS, 1: None})
FINAL: dict[str, int | None] = {"ad_ctr": NOW - 3 * HOUR_MS + 1, "client_spend": NOW - 2 * HOUR_MS}


def started(asked: str, final: Mapping[str, int | None] = FINAL, head: LogHead = HEAD) -> int | None:
    """T for what is asked of both jobs."""
    window_ms = math.lcm(*(JOBS[job].window_ms for job in BOTH))
    return replay_start_ms(asked, window_ms, head, NOW, found("ad_ctr").versions[0].settings["future_bound_ms"], final)


def test_earliest_is_the_smallest_exact_t() -> None:
    assert started("earliest") == T - 2 * HOUR_MS
    assert started("earliest", head=LogHead({0: 0, 1: 0}, {0: T, 1: T})) is None


def test_a_log_that_is_whole_needs_no_final_window() -> None:
    whole = LogHead({0: 0, 1: 0}, {0: T, 1: T})
    assert started("earliest", dict.fromkeys(BOTH, None), whole) is None


def test_t_may_be_the_edge_up_to_which_every_live_version_is_final() -> None:
    assert started(utc(NOW - 3 * HOUR_MS)) == NOW - 3 * HOUR_MS


def start_refusal(expected: type[Refusal], asked: str, **facts: Any) -> str:
    """The message of the refusal that the choice of T ends in."""
    with pytest.raises(expected) as refused:
        started(asked, **facts)
    return str(refused.value)


def test_a_later_t_is_refused_with_the_largest_that_is_allowed_and_the_job_that_holds_it_back() -> None:
    said = start_refusal(StartNotFinal, utc(NOW - 3 * HOUR_MS + MINUTE_MS))
    assert f"the live version of ad_ctr, so these must be final, and the largest T is {utc(NOW - 3 * HOUR_MS)}" in said
    assert "Nothing was staged" in said


def test_before_any_window_is_final_no_t_in_the_log_is_allowed() -> None:
    final = {**FINAL, "client_spend": None}
    said = start_refusal(StartNotFinal, utc(T), final=final)
    assert "client_spend, so these must be final, and no window of it is final yet" in said


def test_latest_is_no_start_of_a_replay() -> None:
    start_refusal(StartNotFinal, "latest")


def test_earliest_is_refused_where_the_log_begins_after_the_last_final_window() -> None:
    said = start_refusal(NoExactStart, "earliest", final=dict.fromkeys(BOTH, T - 3 * HOUR_MS))
    assert f"the smallest exact start is {utc(T - 2 * HOUR_MS)}" in said
    assert "Nothing was staged" in said


def test_a_t_that_the_log_does_not_reach_back_to_is_refused() -> None:
    start_refusal(LogTooShort, utc(T - 2 * HOUR_MS - MINUTE_MS))
    start_refusal(InvalidStart, "soon")
