"""Fates on hand-made logs, at the edges of each rule."""

from __future__ import annotations

from itertools import count

import pytest

from oracle.decode import Event, LogRecord
from oracle.fates import Judge, Ledger, Reading, Row, Rules

NOON = 1_700_049_600_000
HOURS_2, MINUTES_5 = 7_200_000, 300_000
RULES = Rules(HOURS_2, MINUTES_5, 10_000, None)
_offsets = count()


def _event(
    at: int = NOON,
    kind: str = "impression",
    event_id: str = "e1",
    ad: str = "a1",
    user: str = "u1",
    cost: int = 5,
) -> Event:
    return Event(event_id, kind == "click", "s1", "c1", ad, user, at, cost)


def _record(append: int = NOON, partition: int = 0, offset: int = 0) -> LogRecord:
    return LogRecord(partition, offset, append, True, b"", b"")


def _fates(*log: tuple[LogRecord, Event | str], rules: Rules = RULES) -> list[str]:
    judge = Judge(rules)
    return [judge.fate(record, event) for record, event in log]


@pytest.mark.parametrize(
    ("append", "fate"),
    [
        (NOON + HOURS_2, "counted"),
        (NOON + HOURS_2 + 1, "late"),
        (NOON - MINUTES_5, "counted"),
        (NOON - MINUTES_5 - 1, "future"),
    ],
)
def test_the_bounds_are_still_inside(append: int, fate: str) -> None:
    assert _fates((_record(append), _event())) == [fate]


@pytest.mark.parametrize(("at", "fate"), [(NOON - 1, "before_start"), (NOON, "counted")])
def test_a_version_counts_from_its_start_on(at: int, fate: str) -> None:
    assert _fates((_record(), _event(at)), rules=Rules(HOURS_2, MINUTES_5, 10_000, NOON)) == [fate]


def test_before_start_goes_before_late_and_future_before_both_duplicates() -> None:
    rules = Rules(HOURS_2, MINUTES_5, 10_000, NOON)
    assert _fates((_record(NOON + 9 * HOURS_2), _event(NOON - 1)), rules=rules) == ["before_start"]
    assert _fates((_record(), _event()), (_record(NOON - MINUTES_5 - 1), _event())) == ["counted", "future"]


def test_a_dead_letter_is_one_whenever_it_is_appended() -> None:
    assert _fates((_record(0), "not JSON")) == ["dead_letter"]


def test_an_impression_counts_once_in_its_minute() -> None:
    again = _event(NOON + 59_999)
    assert _fates((_record(), _event()), (_record(), again)) == ["counted", "duplicate"]


@pytest.mark.parametrize(
    ("other", "partition"),
    [
        (_event(NOON + 60_000), 0),
        (_event(event_id="e2"), 0),
        (_event(ad="a2"), 0),
        (_event()._replace(client_id="c2"), 0),
        (_event(kind="click"), 0),
        (_event(), 1),
    ],
)
def test_another_minute_id_ad_client_type_or_partition_is_no_duplicate(other: Event, partition: int) -> None:
    assert _fates((_record(), _event()), (_record(partition=partition), other)) == ["counted", "counted"]


@pytest.mark.parametrize(
    ("first", "second", "fate"),
    [
        (NOON, NOON + 9_999, "repeated_click"),
        (NOON + 9_999, NOON, "repeated_click"),
        (NOON + 9_999, NOON + 10_000, "counted"),
        (NOON - 1, NOON, "counted"),
    ],
)
def test_a_click_counts_once_in_its_interval(first: int, second: int, fate: str) -> None:
    one, other = _event(first, "click", "e1"), _event(second, "click", "e2")
    assert _fates((_record(), one), (_record(), other)) == ["counted", fate]


def test_clicks_of_another_user_are_their_own() -> None:
    log = [(_record(), _event(kind="click")), (_record(), _event(kind="click", user="u2"))]
    assert _fates(*log) == ["counted", "counted"]


def test_a_refused_first_copy_does_not_make_the_second_a_duplicate() -> None:
    early = _record(NOON - MINUTES_5 - 1)
    assert _fates((early, _event()), (_record(), _event())) == ["future", "counted"]


def test_a_job_without_a_click_interval_counts_what_it_does_not_refuse() -> None:
    log = [(_record(), _event()), (_record(), _event())]
    assert _fates(*log, rules=Rules(HOURS_2, MINUTES_5, None, None)) == ["counted", "counted"]


def test_a_ledger_keeps_rows_micros_and_refused_records() -> None:
    ledger = Ledger(Reading(RULES, ((0, 0),), ((0, 5),)), frozenset({("client_id", "ad_id")}), keeps=True)
    log: list[tuple[LogRecord, Event | str]] = [
        (_record(offset=0), _event(cost=5)),
        (_record(offset=1), _event(cost=5)),
        (_record(offset=2), _event(NOON + 1, "click", cost=7)),
        (_record(offset=3), _event(NOON + 2, "click", "e2", cost=9)),
        (_record(offset=4), "not JSON"),
        (_record(offset=5), _event(event_id="beyond the end")),
    ]
    for record, event in log:
        ledger.take(record, event)
    assert ledger.rows[("client_id", "ad_id")] == {("c1", "a1", NOON): Row(1, 1, 12, 1, 1)}
    assert {place: kept.fate for place, kept in ledger.kept.items()} == {(0, 4): "dead_letter"}
    assert (ledger.read, ledger.records["counted"], ledger.micros["counted"]) == (5, 2, 12)
    assert ledger.micros["repeated_click"] == 9
    assert sum(ledger.records.values()) == ledger.read
