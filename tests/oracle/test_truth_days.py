"""Days of the clients' own calendars."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from oracle.days import Calendar, Client, Day, days
from oracle.fates import Row

LONG_AGO = date(2000, 1, 1)


def _at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def _client(zone: str, since: date = LONG_AGO, budget: int | None = 10) -> Client:
    return Client("c1", since, zone, "EUR", budget)


@pytest.mark.parametrize(
    ("zone", "at", "day"),
    [
        ("UTC", "2026-11-30 23:59", date(2026, 11, 30)),
        ("Europe/Berlin", "2026-11-30 23:00", date(2026, 12, 1)),
        ("Asia/Kolkata", "2026-11-30 18:29", date(2026, 11, 30)),
        ("Asia/Kolkata", "2026-11-30 18:30", date(2026, 12, 1)),
        ("Europe/Berlin", "2026-03-28 22:59", date(2026, 3, 28)),
        ("Europe/Berlin", "2026-03-28 23:00", date(2026, 3, 29)),
        ("Europe/Berlin", "2026-03-29 21:59", date(2026, 3, 29)),
        ("Europe/Berlin", "2026-03-29 22:00", date(2026, 3, 30)),
        ("Europe/Berlin", "2026-10-25 22:59", date(2026, 10, 25)),
        ("Europe/Berlin", "2026-10-25 23:00", date(2026, 10, 26)),
        ("Pacific/Apia", "2011-12-30 09:59", date(2011, 12, 29)),
        ("Pacific/Apia", "2011-12-30 10:00", date(2011, 12, 31)),
    ],
)
def test_an_instant_falls_into_the_local_day(zone: str, at: str, day: date) -> None:
    assert Calendar([_client(zone)]).day("c1", _at(at)) == day


def test_a_client_without_a_row_has_utc_no_currency_and_no_budget() -> None:
    calendar = Calendar([])
    assert calendar.day("c9", _at("2026-11-30 23:59")) == date(2026, 11, 30)
    assert calendar.blank("c9", date(2026, 11, 30)) == Day("UTC", None, None)


def test_a_row_holds_from_its_own_local_midnight() -> None:
    calendar = Calendar([_client("Europe/Berlin"), _client("America/New_York", date(2026, 12, 1), 20)])
    assert calendar.day("c1", _at("2026-12-01 04:59")) == date(2026, 12, 1)
    assert calendar.day("c1", _at("2026-12-01 05:00")) == date(2026, 12, 1)
    assert calendar.day("c1", _at("2026-12-02 04:59")) == date(2026, 12, 1)
    assert calendar.day("c1", _at("2026-11-30 22:59")) == date(2026, 11, 30)
    assert calendar.blank("c1", date(2026, 12, 1)).budget_micros == 20


def test_before_its_first_row_a_client_has_utc() -> None:
    calendar = Calendar([_client("Asia/Tokyo", date(2026, 12, 1))])
    assert calendar.day("c1", _at("2026-11-30 14:59")) == date(2026, 11, 30)
    assert calendar.day("c1", _at("2026-11-30 15:00")) == date(2026, 12, 1)


def test_a_day_is_the_sum_of_its_minutes() -> None:
    minutes: dict[tuple[object, ...], Row] = {
        ("c1", _at("2026-11-30 22:59")): Row(1, 0, 5),
        ("c1", _at("2026-11-30 23:00")): Row(2, 1, 7),
        ("c1", _at("2026-12-01 22:59")): Row(4, 0, 9),
    }
    found = days(minutes, Calendar([_client("Europe/Berlin")]))
    assert found == {
        ("c1", date(2026, 11, 30)): Day("Europe/Berlin", "EUR", 10, 1, 0, 5),
        ("c1", date(2026, 12, 1)): Day("Europe/Berlin", "EUR", 10, 6, 1, 16),
    }


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("UTC", date(2026, 11, 30), 24), ("Europe/Berlin", date(2026, 3, 29), 23),
        ("Europe/Berlin", date(2026, 10, 25), 25), ("Pacific/Apia", date(2011, 12, 30), 0),
        ("Australia/Lord_Howe", date(2026, 10, 4), 23.5),
    ],
)  # fmt: skip
def test_the_windows_of_a_day_are_its_minutes(zone: str, day: date, hours: float) -> None:
    calendar = Calendar([_client(zone)])
    windows = calendar.windows("c1", day)
    assert len(windows) == 60 * hours
    assert list(windows) == sorted(windows)
    assert all(calendar.day("c1", minute) == day for minute in windows)


def test_a_day_with_another_day_in_between_has_its_minutes_and_no_others() -> None:
    """From Kiritimati to Pago Pago on the 10th: an hour of the 11th comes before most of the 10th."""
    calendar = Calendar([_client("Pacific/Kiritimati"), _client("Pacific/Pago_Pago", date(2026, 3, 10))])
    windows = calendar.windows("c1", date(2026, 3, 10))
    assert len(windows) == 48 * 60
    assert all(calendar.day("c1", minute) == date(2026, 3, 10) for minute in windows)
    assert windows[-1] - windows[0] == (49 * 60 - 1) * 60_000
