"""The comparison of candidate and live rows, on the real database."""

from __future__ import annotations

import pytest

from kappa.core.validation import Band, Direction, Parity
from tests.great_expectations.gate.desk import (
    CANDIDATE,
    LIVE,
    Desk,
    ad_rows,
    altered,
    blocking,
    client_rows,
    found,
    minute,
)

pytestmark = pytest.mark.rig
FINAL = range(5)


def test_equal_rows_of_both_jobs_pass(desk: Desk) -> None:
    rows = ad_rows(FINAL)
    desk.both("ad_ctr", rows, rows)
    desk.both("client_spend", client_rows(rows), client_rows(rows))
    verdict = desk.judge("ad_ctr", "client_spend")
    assert [f for f in verdict.findings if not f.success] == []
    assert verdict.success
    assert [c.compared for c in verdict.comparisons] == [15, 10]


@pytest.mark.fault("F30", "the suite blocks, and lists the one row with both numbers")
def test_one_micro_more_in_one_row_blocks_and_the_row_is_listed(desk: Desk) -> None:
    rows = ad_rows(FINAL)
    desk.both("ad_ctr", rows, altered(rows, 7, click_micros=1, seen_click_micros=1))
    verdict = desk.judge("ad_ctr")
    assert not verdict.success
    assert blocking(verdict) == ["parity"]
    (row,) = found(verdict, "parity").rows
    assert (row["client_id"], row["ad_id"], row["window_start"]) == ("acme", "sock", minute(2).isoformat())
    assert (row["live_click_micros"], row["candidate_click_micros"]) == (70_000, 70_001)
    assert row["missing_in"] is None


@pytest.mark.parametrize(("side", "lacking"), [("candidate", CANDIDATE), ("live", LIVE)])
def test_a_row_missing_on_either_side_blocks(desk: Desk, side: str, lacking: int) -> None:
    rows = ad_rows(FINAL)
    for version in (LIVE, CANDIDATE):
        desk.write("ad_ctr", version, rows[:4] + rows[5:] if version == lacking else rows)
    verdict = desk.judge("ad_ctr")
    assert blocking(verdict) == ["row_count", "parity"]
    (row,) = found(verdict, "parity").rows
    assert (row["missing_in"], row["client_id"], row["ad_id"]) == (side, "acme", "sock")


@pytest.mark.parametrize("earlier", [LIVE, CANDIDATE])
def test_windows_that_are_not_final_in_both_are_left_out(desk: Desk, earlier: int) -> None:
    """The window that ends where complete_through lies is final; the next one is not."""
    rows = ad_rows(range(6))
    desk.through[earlier] = minute(4)
    desk.both("ad_ctr", rows, altered(rows, 12, clicks=1, seen_clicks=1))
    verdict = desk.judge("ad_ctr")
    assert verdict.success
    assert verdict.comparisons[0].compared == 12
    desk.through[earlier] = minute(5)
    assert blocking(desk.judge("ad_ctr")) == ["parity"]


def test_windows_before_the_start_of_either_version_are_left_out(desk: Desk) -> None:
    rows = ad_rows(FINAL)
    desk.starts = {LIVE: minute(1), CANDIDATE: minute(2)}
    desk.both("ad_ctr", rows[3:], rows[6:])
    verdict = desk.judge("ad_ctr")
    assert verdict.success
    assert verdict.comparisons[0].compared == 9
    desk.starts[LIVE] = minute(3)
    assert desk.judge("ad_ctr").comparisons[0].compared == 6


def test_all_offending_rows_are_counted_and_fifty_listed(desk: Desk) -> None:
    rows = ad_rows(range(20))
    desk.through = {LIVE: minute(20), CANDIDATE: minute(20)}
    off = [row | {"clicks": 9} for row in rows]
    desk.both("ad_ctr", rows, off)
    parity = found(desk.judge("ad_ctr"), "parity")
    assert (parity.count, len(parity.rows)) == (60, 50)
    assert parity.rows[0]["window_start"] == minute(0).isoformat()


@pytest.mark.parametrize(
    ("direction", "most", "change", "passes"),
    [
        ("up", 300, 3, True), ("up", 300, 4, False), ("up", 300, -1, False),
        ("down", 300, -3, True), ("down", 300, -4, False), ("down", 300, 1, False),
        ("any", 300, -3, True), ("any", 300, 3, True), ("any", 300, 4, False), ("up", None, 90, True),
    ],
)  # fmt: skip
def test_a_declared_measure_may_differ_within_its_band(
    desk: Desk, direction: str, most: int | None, change: int, passes: bool
) -> None:
    desk.parity, desk.bands = Parity.DECLARED, (Band("clicks", direction, most),)  # type: ignore[arg-type]
    rows = altered(ad_rows(FINAL), 3, seen_clicks=100)
    desk.both("ad_ctr", rows, altered(rows, 3, clicks=change))
    verdict = desk.judge("ad_ctr")
    assert verdict.success is passes
    assert blocking(verdict) == ([] if passes else ["parity"])


def test_a_measure_that_was_not_declared_must_be_equal(desk: Desk) -> None:
    desk.parity, desk.bands = Parity.DECLARED, (Band("clicks", Direction.ANY, None),)
    rows = ad_rows(FINAL)
    desk.both("ad_ctr", rows, altered(rows, 3, clicks=-1, click_micros=-1))
    assert blocking(desk.judge("ad_ctr")) == ["parity"]


def test_a_declared_measure_does_not_let_a_row_be_missing(desk: Desk) -> None:
    desk.parity, desk.bands = Parity.DECLARED, (Band("clicks", Direction.ANY, None),)
    rows = ad_rows(FINAL)
    desk.both("ad_ctr", rows, rows[1:])
    verdict = desk.judge("ad_ctr")
    assert blocking(verdict) == ["parity"]
    assert found(verdict, "parity").rows[0]["missing_in"] == "candidate"


def test_reported_differences_are_listed_and_do_not_block(desk: Desk) -> None:
    desk.parity = Parity.REPORT
    rows = ad_rows(FINAL)
    desk.both("ad_ctr", rows, altered(rows, 0, clicks=-1))
    verdict = desk.judge("ad_ctr")
    assert verdict.success
    assert found(verdict, "parity").count == 1


@pytest.mark.parametrize("parity", Parity)
@pytest.mark.parametrize("through", [None, minute(0)])
def test_an_empty_comparison_fails_whatever_the_parity(desk: Desk, parity: Parity, through: None) -> None:
    desk.parity, desk.through[CANDIDATE] = parity, through
    rows = ad_rows(FINAL)
    desk.both("ad_ctr", rows, rows)
    verdict = desk.judge("ad_ctr")
    assert not verdict.success
    assert blocking(verdict) == ["something_compared"]
    assert verdict.comparisons[0].compared == 0
