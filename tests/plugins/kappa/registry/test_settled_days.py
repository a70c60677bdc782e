"""What `client set` would move of days that are settled: refused, unless it is meant and has a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import pytest

from kappa.core.audit import Author
from kappa.registry.clients import Client, ClientBook, Day, SettledDays, moved
from stack.layout import Layout
from tests.rigs.served_by_hand import FIRST, ByHand, by_hand

BY, BOTH = Author("ada", "run-1", "moved house"), "client_spend"
SETTLED = Day(date(2026, 1, 30), "UTC", None, 7_000_000, "provisional")
OPEN = Day(date(2026, 1, 31), "UTC", None, 2_000_000, "open")


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ([SETTLED, OPEN], []),
        ([SETTLED, Day(OPEN.day, "Asia/Tokyo", "JPY", 1, "open")], []),
        ([Day(SETTLED.day, "UTC", None, 7_000_000, "open"), OPEN], []),
        ([Day(SETTLED.day, "UTC", "EUR", 7_000_000, "provisional")], ["2026-01-30: 7 (UTC) -> 7 EUR (UTC)"]),
        ([Day(SETTLED.day, "UTC", None, 6_500_000, "open")], ["2026-01-30: 7 (UTC) -> 6.5 (UTC)"]),
        ([OPEN], ["2026-01-30: 7 (UTC) -> nothing"]),
    ],
)
def test_only_a_settled_day_that_would_be_another_is_told(after: list[Day], told: list[str]) -> None:
    assert moved([SETTLED, OPEN], after) == told


def test_two_sums_that_differ_in_a_late_digit_are_told_apart() -> None:
    more = 10**37 + 1
    before, after = (Day(SETTLED.day, "UTC", None, micros, "provisional") for micros in (10**37, more))
    assert moved([before], [after]) == [f"2026-01-30: {10**31} (UTC) -> {10**31}.000001 (UTC)"]


@pytest.fixture
def hand(parts: Layout) -> Iterator[ByHand]:
    """A client with 5 millionths late on 30 January and 7 on 31 January, UTC; the 30th is settled."""
    with by_hand(parts.settings) as made:
        made.stage(BOTH, FIRST)
        made.serve(BOTH, ("-infinity", "infinity", FIRST))
        made.rows(BOTH, FIRST, [row("2026-01-30 23:30+00", 5), row("2026-01-31 12:00+00", 7)])
        made.through(BOTH, FIRST, "2026-01-31 13:00")
        yield made


def row(minute: str, micros: int) -> Mapping[str, Any]:
    return {"client_id": "acme", "window_start": minute, "clicks": 1, "click_micros": micros}


def days(hand: ByHand) -> list[tuple[Any, ...]]:
    return hand.execute(
        "select budget_day::text, time_zone, spend_micros::bigint, finality from serving.client_spend_day "
        "where client_id = 'acme' order by 1"
    )


@pytest.mark.rig
def test_a_past_date_that_moves_settled_spend_is_refused_and_says_what_would_move(hand: ByHand) -> None:
    book, before = ClientBook(hand.settings.dsn("kappa_registry")), days(hand)
    assert before == [("2026-01-30", "UTC", 5, "provisional"), ("2026-01-31", "UTC", 7, "open")]
    tokyo = Client("acme", date(2026, 1, 1), "Asia/Tokyo", "JPY", None)
    with pytest.raises(SettledDays, match=r"2026-01-30: 0\.000005 \(UTC\) -> nothing"):
        book.put(tokyo, BY)
    assert days(hand) == before
    assert book.rows("acme") == []
    book.put(tokyo, BY, move_settled=True)
    assert days(hand) == [("2026-01-31", "Asia/Tokyo", 12, "open")]
    evidence = hand.execute("select evidence -> 'moved' from registry.audit order by at desc limit 1")
    assert evidence == [(["2026-01-30: 0.000005 (UTC) -> nothing"],)]


@pytest.mark.rig
def test_what_leaves_settled_days_as_they_are_is_taken(hand: ByHand) -> None:
    book = ClientBook(hand.settings.dsn("kappa_registry"))
    book.put(Client("acme", date(2026, 1, 31), "UTC", "EUR", 10), BY)
    book.put(Client("other", date(2020, 1, 1), "Asia/Tokyo", "JPY", None), BY)
    assert [day[2:] for day in days(hand)] == [(5, "provisional"), (7, "open")]
