"""Two versions held against each other: which windows, what is counted, and the rows that are shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kappa.console import comparison
from kappa.console.comparison import ROWS, RowsGone, compared, first_windows, read
from kappa.console.database import Database
from kappa.console.numbers import NoSuchChoice
from kappa.core.job_catalog import JOBS
from kappa.core.measures import MEASURES
from tests.plugins.kappa.console.conftest import FINAL, OPEN
from tests.rigs.served_by_hand import FIRST, ByHand

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
SECOND = FIRST + 1


def side(complete: datetime | None = NOON, starts: datetime | None = None) -> dict[str, Any]:
    return {"complete_through": complete, "starts_at": starts}


@pytest.mark.parametrize(
    ("sides", "until", "bounds"),
    [
        ([side(), side()], None, (-60, 0)),
        ([side(), side(NOON - timedelta(minutes=7, seconds=12))], None, (-68, -8)),
        ([side(), side(starts=NOON - timedelta(minutes=9))], None, (-9, 0)),
        ([side(), side()], -60, (-120, -60)),
        ([side(), side()], 60, (-60, 0)),
        ([side(), side(None)], None, None),
        ([side(), side(starts=NOON)], None, None),
    ],
)
def test_only_windows_that_are_final_in_both_and_that_both_are_to_have_are_compared(
    sides: list[dict[str, Any]], until: int | None, bounds: tuple[int, int] | None
) -> None:
    asked = None if until is None else int((NOON + timedelta(minutes=until)).timestamp())
    wanted = None if bounds is None else tuple(NOON + timedelta(minutes=each) for each in bounds)
    assert compared(sides, 60, asked) == wanted


def test_rows_are_looked_for_in_as_many_windows_as_hold_them() -> None:
    windows = [{"at": at, "equal": 5, "differing": wrong, "only_left": 0, "only_right": 0}
               for at, wrong in enumerate((0, 1, ROWS - 2, 1, 1))]  # fmt: skip
    assert list(first_windows(windows)) == [1, 2, 3]


def test_what_arrived_is_told_where_it_differs_by_more_than_what_counted() -> None:
    left = dict.fromkeys(MEASURES, 0)
    right = left | {"impressions": 3, "seen_impressions": 3, "clicks": 1, "seen_clicks": 4}
    told = {one["measure"]: one["difference"] for one in comparison.differences(left, right)}
    assert told == {"impressions": 3, "clicks": 1, "seen_clicks": 4}


@pytest.fixture(scope="module")
def second(hand: ByHand) -> int:
    """A later version of ad_ctr with other rows: one equal, one that differs, one that is only its own, one lacking."""
    hand.stage("ad_ctr", SECOND, partitions=2)
    hand.through("ad_ctr", SECOND, OPEN + timedelta(hours=1))
    for version, rows in {
        FIRST: [("same", FINAL, 5), ("other", FINAL, 2**60), ("first", FINAL, 1), ("open", OPEN, 1)],
        SECOND: [("same", FINAL, 5), ("other", FINAL, 2**60 + 1), ("second", FINAL, 3), ("open", OPEN, 9)],
    }.items():
        hand.rows("ad_ctr", version, [
            {"client_id": "c", "ad_id": ad, "window_start": at, "impression_micros": micros} for ad, at, micros in rows
        ])  # fmt: skip
    return SECOND


@pytest.mark.rig
def test_equal_differing_and_missing_rows_are_counted_and_shown_to_the_micro(
    database: Database, hand: ByHand, second: int
) -> None:
    told = read(database, "ad_ctr", FIRST, second, "15m")
    assert told["totals"] == {"equal": 1, "differing": 1, "only_left": 1, "only_right": 1}
    assert [window["at"] for window in told["windows"]["rows"]] == [FINAL.isoformat()]
    assert told["to"] == OPEN.isoformat(), "a window that is not final in one of them is not compared"
    shown = {row["ad_id"]: (row["only"], row["differences"][0]) for row in told["rows"]}
    micros = {"measure": "impression_micros", "left": str(2**60), "right": str(2**60 + 1), "difference": 1}
    assert shown["other"] == (None, micros)
    assert (shown["first"][0], shown["second"][0], len(shown)) == ("left", "right", 3)


@pytest.mark.rig
def test_earlier_windows_of_the_same_versions(database: Database, hand: ByHand, second: int) -> None:
    told = read(database, "ad_ctr", FIRST, second, "15m", int(FINAL.timestamp()))
    assert (told["to"], told["windows"]["compared"], told["rows"]) == (FINAL.isoformat(), 0, [])


@pytest.mark.rig
def test_more_than_is_shown_is_counted(
    database: Database, hand: ByHand, second: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "ROWS", 2)
    told = read(database, "ad_ctr", FIRST, second, "15m")
    assert len(told["rows"]) == 2
    assert sum(told["totals"].values()) == 4


@pytest.mark.rig
def test_of_a_version_whose_rows_are_gone_that_is_said(database: Database, hand: ByHand, second: int) -> None:
    hand.execute("update registry.job_version set state = 'RETIRED' where version = %s", second)
    with pytest.raises(RowsGone, match=f"ad_ctr v{second} is retired: its rows were deleted"):
        read(database, "ad_ctr", FIRST, second, "15m")
    hand.execute("update registry.job_version set state = 'PREVIOUS' where version = %s", second)
    with pytest.raises(NoSuchChoice, match="ad_ctr has no such version"):
        read(database, "ad_ctr", FIRST, 77, "15m")


@pytest.mark.rig
def test_the_plan_reads_the_rows_of_the_two_versions_in_the_span_only(
    database: Database, hand: ByHand, second: int
) -> None:
    asked = {"left": FIRST, "right": second, "from": FINAL - timedelta(hours=1), "to": OPEN}
    with database.reading() as connection:
        rows = connection.execute(f"explain {comparison.figures(JOBS['ad_ctr'])}", asked, prepare=False).fetchall()
    plan = "\n".join(row["QUERY PLAN"] for row in rows)
    assert f"ad_ctr_minute_v{FIRST}" in plan
    assert "Append" not in plan
