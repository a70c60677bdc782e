"""Sums over the rows that serve: which version of which windows, what of them is final, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kappa.console import numbers, sums
from kappa.console.database import Database, TooSlow
from kappa.console.sums import SUMMED, Part, points
from tests.plugins.kappa.console.conftest import FINAL, OPEN
from tests.rigs.served_by_hand import FIRST, ByHand

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
SECOND = FIRST + 1


def minute(at: int, is_final: bool, impressions: int) -> dict[str, Any]:
    return {"at": 60 * at, "is_final": is_final, **dict.fromkeys(SUMMED, 0), "impressions": impressions}


def test_minutes_are_added_up_to_points_with_what_is_final_apart() -> None:
    told = points([minute(6, True, 1), minute(7, True, 2), minute(8, True, 4), minute(8, False, 8)], 3)
    assert [(p["at"], p["is_final"], p["impressions"]) for p in told] == [
        (360, False, 8), (360, True, 7),
    ]  # fmt: skip
    assert [p["at"] for p in points([minute(5, True, 1), minute(6, True, 1)], 3)] == [180, 360]


@pytest.mark.parametrize(("complete", "is_final"), [(NOON, False), (NOON + timedelta(minutes=1), True), (None, False)])
def test_a_window_is_final_once_its_end_is_complete(complete: datetime | None, is_final: bool) -> None:
    assert Part(1, NOON, NOON, complete).is_final(NOON) is is_final


@pytest.fixture(scope="module")
def both(hand: ByHand) -> ByHand:
    """Windows before OPEN are served by FIRST, those from it on by SECOND; each has rows of both."""
    hand.stage("ad_ctr", SECOND, partitions=2)
    hand.serve("ad_ctr", ("-infinity", OPEN.isoformat(), FIRST), (OPEN.isoformat(), "infinity", SECOND))
    hand.through("ad_ctr", FIRST, OPEN)
    hand.through("ad_ctr", SECOND, None)
    hand.execute("update registry.heartbeat set version = %s where job = 'ad_ctr'", SECOND)
    for version, of_version in ((FIRST, 1), (SECOND, 100)):
        hand.rows("ad_ctr", version, [
            {"client_id": client, "ad_id": "a", "window_start": at, "impressions": of_version * times,
             "seen_impressions": of_version * times + 1, "impression_micros": of_version, "click_micros": of_version}
            for at in (FINAL, OPEN) for client, times in (("c1", 1), ("c2", 2))
        ])  # fmt: skip
        hand.rows("client_spend", FIRST, [
            {"client_id": f"of-{version}", "window_start": FINAL, "impressions": of_version}
        ])  # fmt: skip
    return hand


@pytest.mark.rig
def test_each_window_is_of_the_version_that_serves_it(both: ByHand, database: Database) -> None:
    told = numbers.read(database, numbers.choice("1h", "", "a"))
    assert [(p["is_final"], p["impressions"], p["duplicates"], p["spend_micros"]) for p in told["points"]] == [
        (True, 3, 2, "4"), (False, 300, 2, "400"),
    ]  # fmt: skip
    assert [(ad["client_id"], ad["impressions"]) for ad in told["ads"]["rows"]] == [("c1", 101), ("c2", 202)]
    assert (told["source"], told["clients"]["among"]) == ("ad_ctr", 2)


@pytest.mark.rig
def test_all_clients_are_added_up_from_the_rows_of_clients_where_these_serve(both: ByHand, database: Database) -> None:
    told = numbers.read(database, numbers.choice("1h", "", ""))
    assert (told["source"], told["points"][0]["impressions"], told["ads"]["among"]) == ("client_spend", 101, 2)
    assert {row["client_id"] for row in told["clients"]["rows"]} == {f"of-{FIRST}", f"of-{SECOND}"}
    assert numbers.read(database, numbers.choice("1h", "c1", ""))["source"] == "ad_ctr"
    both.serve("client_spend")
    assert numbers.read(database, numbers.choice("1h", "", ""))["source"] == "ad_ctr"
    both.serve("client_spend", ("-infinity", "infinity", FIRST))


@pytest.mark.rig
def test_ads_that_take_too_long_do_not_take_the_others_along(
    both: ByHand, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked = sums.Rows.ranked

    def slow(rows: sums.Rows, connection: Any, names: Sequence[str], most: int) -> Any:
        if "ad_id" in names:
            raise TooSlow
        return ranked(rows, connection, names, most)

    monkeypatch.setattr(sums.Rows, "ranked", slow)
    told = numbers.read(database, numbers.choice("1h", "", ""))
    assert (len(told["points"]), told["clients"]["among"]) == (1, 2)
    assert "longer than 4 s and was cut off" in told["ads"]["refused"]
