"""Synthetic traffic: determinism, fractions, and that each kind is what it says."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from oracle.decode import LogRecord, decode
from traffic import synthetic
from traffic.malformed import VARIANTS
from traffic.records import Kind, Record
from traffic.shape import Axis, Fractions, KnobOutOfRange, Shape

START, SPAN = 1_700_000_000_000, 6_600_000
RECORDS = 40_000
END = START + SPAN
FRACTIONS = Fractions(0.05, 0.1, 0.03, 0.01, 0.005, 0.01)


def _records(seed: int = 1, live: bool = False) -> list[Record]:
    shape = Shape(seed, RECORDS, ctr=0.1, fractions=FRACTIONS)
    return list(synthetic.records(shape, Axis(START, SPAN / RECORDS, live)))


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return _records()


def _of(records: list[Record], kind: Kind) -> list[dict[str, object]]:
    return [json.loads(record.value or b"") for record in records if record.kind is kind]


def test_a_seed_gives_the_same_bytes_again(records: list[Record]) -> None:
    assert _records() == records


def test_another_seed_gives_others(records: list[Record]) -> None:
    assert _records(seed=2) != records


def test_there_are_exactly_as_many_records_as_asked(records: list[Record]) -> None:
    assert len(records) == RECORDS


@pytest.mark.parametrize(
    ("kind", "fraction"),
    [
        (Kind.OUT_OF_ORDER, 0.05),
        (Kind.RESEND, 0.1),
        (Kind.REPEATED_CLICK, 0.03),
        (Kind.LATE, 0.01),
        (Kind.FUTURE, 0.005),
        (Kind.MALFORMED, 0.01),
    ],
)
def test_the_fractions_hold(records: list[Record], kind: Kind, fraction: float) -> None:
    share = sum(record.kind is kind for record in records) / RECORDS
    assert share == pytest.approx(fraction, rel=0.2)


def test_a_resend_carries_the_bytes_of_an_earlier_record(records: list[Record]) -> None:
    seen: set[tuple[bytes | None, bytes | None]] = set()
    for record in records:
        if record.kind is Kind.RESEND:
            assert (record.key, record.value) in seen
        seen.add((record.key, record.value))


def test_a_repeated_click_shares_ad_user_and_interval_with_an_earlier_click(records: list[Record]) -> None:
    clicks: set[tuple[object, ...]] = set()
    for record in records:
        if record.kind in (Kind.CLICK, Kind.REPEATED_CLICK):
            event = json.loads(record.value or b"")
            interval = (event["client_id"], event["ad_id"], event["user_id"], event["event_time"] // 10_000)
            assert record.kind is Kind.CLICK or interval in clicks
            clicks.add(interval)


@pytest.mark.parametrize("live", [False, True])
def test_late_and_future_records_are_so_when_they_are_appended(live: bool) -> None:
    for record in _records(live=live):
        if record.kind in (Kind.LATE, Kind.FUTURE):
            appended = START + round(record.due * 1000) if live else END
            ahead = json.loads(record.value or b"")["event_time"] - appended
            assert ahead < -7_200_000 if record.kind is Kind.LATE else ahead > 300_000


def test_all_others_are_neither_late_nor_future(records: list[Record]) -> None:
    disturbed = (Kind.LATE, Kind.FUTURE, Kind.MALFORMED)
    for event in (json.loads(r.value or b"") for r in records if r.kind not in disturbed):
        assert -300_000 < END - event["event_time"] < 7_200_000


def test_all_others_hold_the_contract(records: list[Record]) -> None:
    for record in records:
        verdict = decode(LogRecord(0, 0, END, True, record.key, record.value))
        assert isinstance(verdict, str) == (record.kind is Kind.MALFORMED), (record, verdict)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_way_to_malform_gives_a_dead_letter(records: list[Record], variant: object) -> None:
    assert variant in VARIANTS
    good = next(record for record in records if record.kind is Kind.IMPRESSION)
    for each in VARIANTS:
        if each is variant:
            key, value = each.broken(good.key or b"", good.value or b"")
            assert isinstance(decode(LogRecord(0, 0, END, True, key, value)), str)


def test_ads_are_skewed(records: list[Record]) -> None:
    ads = Counter(str(event["ad_id"]) for event in _of(records, Kind.IMPRESSION))
    assert ads.most_common(1)[0][1] > 20 * sum(ads.values()) / 2_000


def test_clicks_follow_impressions_of_the_same_ad_and_user(records: list[Record]) -> None:
    shown = {(e["ad_id"], e["user_id"]) for e in _of(records, Kind.IMPRESSION)}
    clicks = _of(records, Kind.CLICK)
    assert clicks
    assert all((e["ad_id"], e["user_id"]) in shown for e in clicks)


def test_fractions_of_more_than_all_are_refused() -> None:
    with pytest.raises(KnobOutOfRange, match="must sum to 1"):
        Shape(1, 10, fractions=Fractions(resends=0.6, late=0.6))


def test_a_knob_out_of_range_is_named() -> None:
    with pytest.raises(KnobOutOfRange, match="--ctr 2"):
        Shape(1, 10, ctr=2)


def test_repeated_clicks_lie_as_far_apart_as_the_knob_lets_them() -> None:
    shape = Shape(1, RECORDS, ctr=0.1, repeat_within_ms=30_000, fractions=FRACTIONS)
    first: set[tuple[object, ...]] = set()
    apart = 0
    for record in synthetic.records(shape, Axis(START, SPAN / RECORDS, live=False)):
        if record.kind in (Kind.CLICK, Kind.REPEATED_CLICK):
            event = json.loads(record.value or b"")
            who, at = (event["client_id"], event["ad_id"], event["user_id"]), event["event_time"]
            assert record.kind is Kind.CLICK or (*who, 30_000, at // 30_000) in first
            apart += record.kind is Kind.REPEATED_CLICK and (*who, 10_000, at // 10_000) not in first
            first |= {(*who, length, at // length) for length in (10_000, 30_000)}
    assert apart > 100


@pytest.mark.parametrize("within", [0, 25_000, 120_000])
def test_a_repeat_is_only_within_what_a_click_interval_can_be(within: int) -> None:
    with pytest.raises(KnobOutOfRange, match=r"--repeat-within .*: it must divide a minute"):
        Shape(1, 10, repeat_within_ms=within)
