"""The Open Bandit log as traffic."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from traffic import open_bandit
from traffic.open_bandit_totals import expected_totals
from traffic.records import Kind, Record

START = 1_700_000_000_000


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return list(open_bandit.records(START, 5_040))


@pytest.fixture(scope="module")
def events(records: list[Record]) -> list[dict[str, object]]:
    return [json.loads(record.value or b"") for record in records]


def test_the_files_hold_60000_impressions_and_287_clicks() -> None:
    totals = expected_totals()
    assert {name: row[:2] for name, row in totals.items()} == {
        "all": (20_000, 80),
        "men": (20_000, 115),
        "women": (20_000, 92),
    }


def test_the_records_sum_to_the_totals_of_the_files(events: list[dict[str, object]]) -> None:
    sums: dict[str, list[int]] = {}
    for event in events:
        row = sums.setdefault(str(event["client_id"]), [0, 0, 0])
        row[event["event_type"] == "click"] += 1
        row[2] += int(str(event["cost_micros"]))
    assert {name: tuple(row) for name, row in sums.items()} == expected_totals()


def test_a_click_comes_two_seconds_after_its_impression(records: list[Record]) -> None:
    impressions = Counter(_place(record) for record in records if record.kind is Kind.IMPRESSION)
    clicks = [_place(record) for record in records if record.kind is Kind.CLICK]
    assert len(clicks) == 287
    assert all(impressions[(user, ad, slot, at - 2_000)] for user, ad, slot, at in clicks)


def _place(record: Record) -> tuple[str, str, str, int]:
    event = json.loads(record.value or b"")
    return event["user_id"], event["ad_id"], event["slot_id"], event["event_time"]


@pytest.mark.parametrize("compress", [60, 604_800])
def test_no_click_repeats_another_under_any_compression(compress: int) -> None:
    clicks = [json.loads(r.value or b"") for r in open_bandit.records(START, compress) if r.kind is Kind.CLICK]
    assert len({(c["client_id"], c["ad_id"], c["user_id"]) for c in clicks}) == 287


def test_no_event_id_occurs_twice(events: list[dict[str, object]]) -> None:
    assert len({event["event_id"] for event in events}) == 60_287


def test_records_are_in_the_order_of_play(records: list[Record]) -> None:
    assert all(one.due <= other.due for one, other in pairwise(records))


def test_the_event_time_is_the_play_time(records: list[Record], events: list[dict[str, object]]) -> None:
    assert [round(record.due * 1000) + START for record in records] == [event["event_time"] for event in events]
    assert records[-1].due <= open_bandit.play_seconds(5_040)


def test_the_key_is_the_user(records: list[Record], events: list[dict[str, object]]) -> None:
    assert all(record.key == str(event["user_id"]).encode() for record, event in zip(records, events, strict=True))
