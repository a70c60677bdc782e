"""What a served number is made of, as values."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from oracle.days import Calendar, Client
from oracle.decode import LogRecord, decode
from oracle.explain import Number, Total, added, examine, held_against, totals
from oracle.fates import Ledger, Reading, Row, Rules
from tests.oracle.lineage_records import HOURS_2, MINUTE, MINUTES_5, NOON, NUMBER, RULES, part, record

SERVED = {
    "impressions": 2, "clicks": 1, "spend_micros": 110, "duplicates": 1, "repeated_clicks": 1,
    "ctr": Decimal("0.50000000000000000000"), "is_final": False,
}  # fmt: skip
_NAMES = {"client_id": ["c1", "c2"], "ad_id": ["a1", "a2"], "user_id": ["u1", "u2"]}
LOG = [
    record(0),
    record(1, event_id=2, at=NOON + 59_999),
    record(2, append=NOON + 3_000),
    record(3, "click", 3, at=NOON + 1_000, cost=100),
    record(4, "click", 4, at=NOON + 9_999, cost=70),
    record(5, event_id=5, at=NOON + MINUTE),
    record(6, event_id=6, ad_id="a2"),
    record(7, event_id=7, client_id="c2"),
    record(8, event_id=8, append=NOON + HOURS_2 + 1),
    LogRecord(0, 9, NOON, True, b"u1", b"oops c1"),
]


def test_a_number_is_made_of_its_own_records_with_their_fates() -> None:
    found = examine(NUMBER, part(), LOG)
    fates = {each.offset: each.fate for each in found.records}
    assert fates == {0: "counted", 1: "counted", 2: "duplicate", 3: "counted", 4: "repeated_click", 8: "late"}
    assert found.row == Row(2, 1, 110, 1, 1)
    assert (found.count, found.read) == (10, {0: (0, 10)})


def test_what_was_not_counted_names_the_record_that_counted_instead() -> None:
    found = examine(NUMBER, part(), LOG)
    assert {each.offset: each.first for each in found.records if each.first is not None} == {2: 0, 4: 3}


def test_a_refused_copy_is_not_the_first_one() -> None:
    log = [record(0, append=NOON - MINUTES_5 - 1), record(1), record(2)]
    found = examine(NUMBER, part(), log)
    assert [(each.fate, each.first) for each in found.records] == [
        ("future", None),
        ("counted", None),
        ("duplicate", 1),
    ]


def test_records_are_told_in_append_order() -> None:
    log = [record(0, event_id=1, append=NOON + 5), record(0, event_id=2, append=NOON + 4, partition=1)]
    both = replace(part(), start={0: 0, 1: 0}, end={0: 1, 1: 1})
    assert [each.partition for each in examine(NUMBER, both, log).records] == [1, 0]


@pytest.mark.parametrize(("start", "end", "offsets"), [(1, 100, [1, 2]), (0, 2, [0, 1]), (0, 0, [])])
def test_what_the_version_did_not_read_is_left_out(start: int, end: int, offsets: list[int]) -> None:
    log = [record(0, event_id=1), record(1, event_id=2), record(2, event_id=3)]
    found = examine(NUMBER, part(end, start=start), log)
    assert [each.offset for each in found.records] == offsets


def test_a_version_refuses_what_is_before_its_start() -> None:
    found = examine(NUMBER, part(rules=replace(RULES, starts_at=NOON + 1_000)), [record(0), record(1, at=NOON + 1_000)])
    assert [each.fate for each in found.records] == ["before_start", "counted"]


def test_an_id_that_json_spells_by_escapes_is_found() -> None:
    spelled = record(0)
    assert spelled.value is not None
    escaped = spelled._replace(value=spelled.value.replace(b'"c1"', b'"\\u0063\\u0031"'))
    assert examine(NUMBER, part(), [escaped]).row == Row(1, 0, 5)


def _some(seeded: random.Random, offset: int) -> LogRecord:
    """A record of a minute around noon, of one of two clients, ads and users; refused now and then."""
    at = NOON + seeded.randrange(-MINUTE, MINUTE)
    names = {name: seeded.choice(values) for name, values in _NAMES.items()}
    append = NOON + seeded.choice([0, 1, HOURS_2, -MINUTES_5])
    kind = seeded.choice(["impression", "click"])
    return record(offset, kind, seeded.randrange(40), at, append, 0, seeded.randrange(9), **names)


def test_the_records_of_other_clients_do_not_change_what_a_number_is_made_of() -> None:
    """By the whole ledger of the log, as reconcile keeps it, on logs of every kind of record."""
    seeded = random.Random(7)
    log = [_some(seeded, offset) for offset in range(2_000)]
    ledger = Ledger(Reading(RULES, ((0, 0),), ((0, 2_000),)), frozenset({("client_id", "ad_id"), ("client_id",)}))
    for each in log:
        ledger.take(each, decode(each))
    alone = examine(NUMBER, part(2_000), log)
    assert alone.row == ledger.rows["client_id", "ad_id"]["c1", "a1", NOON]
    client = examine(Number("client_spend", "c1", day=date(2023, 11, 15)), part(2_000), log)
    assert client.row == ledger.rows[("client_id",)]["c1", NOON]


def test_the_span_holds_every_record_that_can_count_and_no_more_than_a_minute_beyond() -> None:
    windows = part(100, RULES, 1, 0, NOON, NOON + 9 * MINUTE)
    assert windows.span == (NOON - MINUTES_5, NOON + 10 * MINUTE + HOURS_2 + MINUTE)
    first, last = windows.span
    edges = [record(0, at=NOON, append=first), record(1, event_id=2, at=NOON, append=first - 1)]
    assert [each.fate for each in examine(NUMBER, part(), edges).records] == ["future", "counted"]
    assert last - MINUTE - HOURS_2 == NOON + 10 * MINUTE


def test_a_span_does_not_begin_before_time_does() -> None:
    """A negative time would mean something else to the broker."""
    assert part(100, RULES, 1, 0, MINUTE).span[0] == 0


@pytest.mark.parametrize(
    ("zone", "first", "minutes"),
    [
        ("UTC", "2026-03-29 00:00", 1440),
        ("Europe/Berlin", "2026-03-28 23:00", 1380),
        ("Asia/Kolkata", "2026-03-28 18:30", 1440),
        ("Pacific/Kiritimati", "2026-03-28 10:00", 1440),
    ],
)
def test_a_day_is_the_clients_own(zone: str, first: str, minutes: int) -> None:
    calendar = Calendar([Client("c1", date(2000, 1, 1), zone, "EUR", None)])
    found = Number("client_spend", "c1", day=date(2026, 3, 29)).minutes(calendar)
    begins = datetime.fromisoformat(first).replace(tzinfo=UTC)
    assert (min(found), len(found)) == (int(begins.timestamp()) * 1000, minutes)


def test_a_day_that_never_was_has_no_minutes() -> None:
    calendar = Calendar([Client("c1", date(2000, 1, 1), "Pacific/Apia", "WST", None)])
    assert Number("client_spend", "c1", day=date(2011, 12, 30)).minutes(calendar) == frozenset()


def test_a_client_that_moves_west_has_one_longer_day() -> None:
    rows = [Client("c1", date(2000, 1, 1), "Europe/Berlin", "EUR", None)]
    rows.append(Client("c1", date(2026, 12, 1), "America/New_York", "USD", None))
    assert len(Number("client_spend", "c1", day=date(2026, 12, 1)).minutes(Calendar(rows))) == 30 * 60


def test_totals_are_by_fate_in_the_order_of_the_contract() -> None:
    found = totals(examine(NUMBER, part(), LOG).records)
    assert list(found) == ["late", "duplicate", "repeated_click", "counted"]
    assert found["counted"] == Total(3, 110)
    assert found["repeated_click"] == Total(1, 70)


def test_what_is_served_as_it_must_be_has_no_difference() -> None:
    assert held_against(NUMBER, Row(2, 1, 110, 1, 1), SERVED) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("impressions", 3),
        ("clicks", 2),
        ("spend_micros", 111),
        ("spend_micros", 109),
        ("duplicates", 0),
        ("repeated_clicks", 2),
        ("ctr", Decimal("0.51")),
        ("ctr", None),
    ],
)
def test_each_column_that_is_off_by_one_is_named(column: str, value: object) -> None:
    found = held_against(NUMBER, Row(2, 1, 110, 1, 1), {**SERVED, column: value})
    assert [(each.column, each.served) for each in found] == [(column, value)]


def test_a_row_on_one_side_only_is_a_difference() -> None:
    assert [each.column for each in held_against(NUMBER, None, SERVED)] == ["(row)"]
    assert [each.column for each in held_against(NUMBER, Row(1), None)] == ["(row)"]
    assert held_against(NUMBER, None, None) == []


def test_a_day_is_held_against_what_its_view_shows() -> None:
    day = Number("client_spend", "c1", day=date(2023, 11, 15))
    served = {"impressions": 2, "clicks": 1, "spend_micros": 110, "time_zone": "UTC", "finality": "open"}
    assert held_against(day, Row(2, 1, 110, 7, 7), served) == []
    assert [each.column for each in held_against(day, Row(2, 1, 111), served)] == ["spend_micros"]


def test_parts_add_up_and_parts_without_records_add_nothing() -> None:
    assert added([Row(1, 2, 3, 4, 5), None, Row(1, 1, 1, 1, 1)]) == Row(2, 3, 4, 5, 6)
    assert added([None, None]) is None


def test_a_job_that_counts_all_names_no_first_copy() -> None:
    found = examine(NUMBER, part(rules=Rules(HOURS_2, MINUTES_5, None, None)), [record(0), record(1)])
    assert [(each.fate, each.first) for each in found.records] == [("counted", None), ("counted", None)]
