"""When a version's batches are larger than its settings say, and that its records per second stay the same."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import pace
from jobs.catalog import find, resolve
from jobs.reach import Ends

SLOW = {"cadence_ms": 2_000, "records_per_batch": 6_000, "allowed_lateness_ms": 7}
WIDE = {**SLOW, "cadence_ms": 10_000, "records_per_batch": 30_000}


@pytest.mark.parametrize(("unread", "given"), [(90_000, WIDE), (89_999, SLOW), (0, SLOW)])
def test_a_query_begins_with_larger_batches_where_several_of_them_are_unread(
    unread: int, given: dict[str, Any]
) -> None:
    assert pace.begin(SLOW, unread) == given


@pytest.mark.parametrize(("unread", "near"), [(30_000, False), (29_999, True), (0, True), (None, False)])
def test_it_ends_where_less_than_one_of_them_is(unread: int | None, near: bool) -> None:
    assert pace.ends(WIDE, SLOW, unread) is near


def test_a_query_by_the_usual_settings_never_ends_for_its_pace() -> None:
    assert not pace.ends(SLOW, SLOW, 0)


@pytest.mark.parametrize(
    ("cadence_ms", "most"), [(2_000, 200), (2_000, 6_000), (2_000, 40_000), (3_000, 100), (999, 25)]
)
def test_the_rate_is_never_above_the_settings(cadence_ms: int, most: int) -> None:
    wide = pace.wider({"cadence_ms": cadence_ms, "records_per_batch": most})
    assert wide["records_per_batch"] * cadence_ms == wide["cadence_ms"] * most
    assert wide["cadence_ms"] <= pace.LONGEST_MS
    assert wide["records_per_batch"] <= max(most, pace.MOST_RECORDS)


@pytest.mark.parametrize("cadence_ms", [0, pace.LONGEST_MS, 2 * pace.LONGEST_MS])
def test_no_cadence_and_a_long_one_stay_as_they_are(cadence_ms: int) -> None:
    usual = {"cadence_ms": cadence_ms, "records_per_batch": 100}
    assert pace.wider(usual) == usual


@pytest.mark.parametrize("job", ["ad_ctr", "client_spend"])
def test_a_job_by_its_defaults_reads_as_much_as_it_does_anyway(job: str) -> None:
    usual = resolve(find(job), {})
    assert pace.begin(usual, 10**9) == usual


def test_unread_is_what_lies_before_the_ends_of_the_versions_own_partitions() -> None:
    assert pace.unread({0: 10, 1: 5}, Ends(0, {0: 30, 1: 4, 2: 1_000})) == 20
    assert pace.unread({0: 10}, None) is None
