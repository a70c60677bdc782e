"""Which days may still change: at seams of versions, at the edges of days, and where a client moves (contract, 3)."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from oracle.days import Calendar, Client
from tests.rigs.served_by_hand import FIRST, ByHand, utc

pytestmark = pytest.mark.rig

V1, V2, V3 = FIRST, FIRST + 1, FIRST + 2
JOB, OPEN, PROVISIONAL = "client_spend", "open", "provisional"
DAY = date(2026, 3, 10)
NOON = "2026-03-10 12:00+00"
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Pago_Pago",
    "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia", "America/Havana", "Australia/Lord_Howe",
    "Pacific/Kwajalein", "Africa/Cairo", "Atlantic/Azores",
)  # fmt: skip
FAR_APART = ("Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Tokyo")


def _seam(hand: ByHand, at: str = NOON) -> None:
    """Version 1 serves what was before, version 2 from then on."""
    for version in (V1, V2):
        hand.stage(JOB, version)
    hand.serve(JOB, ("-infinity", at, V1), (at, "infinity", V2))


def test_a_day_is_open_while_a_version_without_rows_in_it_still_reads(hand: ByHand) -> None:
    """The stopped version ran on past midnight; the one that serves the afternoon has not."""
    _seam(hand)
    hand.spend(V1, "acme", "2026-03-10 11:00", 50)
    hand.through(JOB, V1, "2026-03-11 02:00")
    hand.through(JOB, V2, "2026-03-10 18:00")
    assert hand.days("acme") == {DAY: (50, OPEN)}
    hand.spend(V2, "acme", "2026-03-10 18:01", 70)
    hand.through(JOB, V2, "2026-03-11 00:00")
    assert hand.days("acme") == {DAY: (120, PROVISIONAL)}


def test_a_day_is_not_open_for_ever_for_a_version_that_was_stopped_at_the_seam(hand: ByHand) -> None:
    """A promotion's T is never after the old version's complete_through: what it serves is final when it stops."""
    _seam(hand)
    hand.spend(V1, "acme", "2026-03-10 11:00", 50)
    hand.spend(V2, "acme", "2026-03-10 13:00", 70)
    hand.through(JOB, V1, "2026-03-10 12:00")
    hand.through(JOB, V2, "2026-03-11 00:00")
    assert hand.days("acme") == {DAY: (120, PROVISIONAL)}
    hand.through(JOB, V1, "2026-03-10 11:59")
    assert hand.days("acme") == {DAY: (120, OPEN)}, "a window of the old version may still change"


def test_each_of_three_versions_of_one_day_has_a_say(hand: ByHand) -> None:
    for version in (V1, V2, V3):
        hand.stage(JOB, version)
    hand.serve(
        JOB, ("-infinity", "2026-03-10 08:00+00", V1), ("2026-03-10 08:00+00", "2026-03-10 16:00+00", V2),
        ("2026-03-10 16:00+00", "infinity", V3),
    )  # fmt: skip
    hand.spend(V1, "acme", "2026-03-10 01:00", 1)
    needed = {V1: "2026-03-10 08:00", V2: "2026-03-10 16:00", V3: "2026-03-11 00:00"}
    for version, at in needed.items():
        hand.through(JOB, version, at)
    assert hand.days("acme")[DAY] == (1, PROVISIONAL)
    for version, at in needed.items():
        hand.through(JOB, version, utc(at) - timedelta(milliseconds=1))
        assert hand.days("acme")[DAY] == (1, OPEN), f"v{version} lacks a millisecond"
        hand.through(JOB, version, at)


def test_what_is_unknown_is_open_and_what_lies_outside_of_the_day_does_not_matter(hand: ByHand) -> None:
    _seam(hand)
    hand.spend(V2, "acme", "2026-03-10 13:00", 70)
    hand.spend(V2, "acme", "2026-03-11 13:00", 9)
    hand.through(JOB, V2, "2026-03-12 00:00")
    after = DAY + timedelta(days=1)
    assert hand.days("acme") == {DAY: (70, OPEN), after: (9, PROVISIONAL)}, "v1 never read anything"
    hand.through(JOB, V1, "2026-03-10 12:00")
    assert hand.days("acme")[DAY] == (70, PROVISIONAL)


@pytest.mark.parametrize(
    ("zone", "day", "last"),
    [
        ("UTC", "2026-03-10", "2026-03-11 00:00"),
        ("Europe/Berlin", "2026-03-29", "2026-03-29 22:00"),
        ("Europe/Berlin", "2026-10-25", "2026-10-25 23:00"),
        ("Asia/Kathmandu", "2026-03-10", "2026-03-10 18:15"),
        ("America/New_York", "2026-11-01", "2026-11-02 05:00"),
        ("Atlantic/Azores", "2026-10-24", "2026-10-25 00:00"),
        ("America/Havana", "2026-10-31", "2026-11-01 04:00"),
    ],
)
def test_a_day_ends_at_the_clients_midnight(hand: ByHand, zone: str, day: str, last: str) -> None:
    hand.stage(JOB, V1)
    hand.serve(JOB, ("-infinity", "infinity", V1))
    hand.client("acme", zone, "2020-01-01")
    hand.spend(V1, "acme", utc(last) - timedelta(minutes=1), 3)
    for through, finality in ((utc(last) - timedelta(minutes=1), OPEN), (utc(last), PROVISIONAL)):
        hand.through(JOB, V1, through)
        assert hand.days("acme") == {date.fromisoformat(day): (3, finality)}


def test_who_moves_to_where_the_day_has_two_midnights_has_its_days_from_the_first(hand: ByHand) -> None:
    """The Azores' clocks go back at one o'clock, to midnight."""
    hand.stage(JOB, V1)
    hand.serve(JOB, ("-infinity", "infinity", V1))
    moved = date(2026, 10, 25)
    hand.client("acme", "America/New_York", "2020-01-01")
    hand.client("acme", "Atlantic/Azores", moved)
    hand.spend(V1, "acme", "2026-10-25 00:30", 3)
    assert hand.days("acme") == {moved: (3, OPEN)}


def test_a_day_that_a_move_stretches_ends_with_its_last_minute(hand: ByHand) -> None:
    """From Kiritimati to Pago Pago on the 10th: that day has 49 hours, and an hour of the next comes in between."""
    hand.stage(JOB, V1)
    hand.serve(JOB, ("-infinity", "infinity", V1))
    hand.client("acme", "Pacific/Kiritimati", "2020-01-01")
    hand.client("acme", "Pacific/Pago_Pago", DAY)
    for at in ("2026-03-09 10:00", "2026-03-10 10:30", "2026-03-11 10:59"):
        hand.spend(V1, "acme", at, 1)
    hand.through(JOB, V1, "2026-03-11 10:59")
    after = DAY + timedelta(days=1)
    assert hand.days("acme") == {DAY: (2, OPEN), after: (1, OPEN)}
    hand.through(JOB, V1, "2026-03-11 11:00")
    assert hand.days("acme") == {DAY: (2, PROVISIONAL), after: (1, OPEN)}


def test_a_minute_is_in_one_day_when_a_client_moves_east_over_the_date_line(hand: ByHand) -> None:
    """The 11th begins on Kiritimati an hour before the 10th does in Pago Pago, where the client then never was."""
    hand.stage(JOB, V1)
    hand.serve(JOB, ("-infinity", "infinity", V1))
    hand.client("acme", "Asia/Tokyo", "2020-01-01")
    hand.client("acme", "Pacific/Pago_Pago", DAY)
    hand.client("acme", "Pacific/Kiritimati", DAY + timedelta(days=1))
    hand.spend(V1, "acme", "2026-03-10 09:59", 1)
    hand.spend(V1, "acme", "2026-03-10 10:30", 10)
    assert hand.days("acme") == {DAY: (1, OPEN), DAY + timedelta(days=1): (10, OPEN)}


def test_days_and_their_finality_are_those_of_the_calendar(hand: ByHand) -> None:
    """Random moves, minutes and reach, against the oracle's calendar; the seed is printed."""
    seed = random.randrange(10**6)
    draw = random.Random(seed)
    hand.stage(JOB, V1)
    hand.serve(JOB, ("-infinity", "infinity", V1))
    clients = [client for number in range(60) for client in _moves(draw, f"r{number}")]
    for client in clients:
        hand.client(client.client_id, client.time_zone, client.valid_from)
    calendar, expected = Calendar(clients), dict[tuple[str, date], int]()
    for name in sorted({client.client_id for client in clients}):
        for at in sorted(_around(draw, name, clients)):
            micros = draw.randrange(1, 1_000)
            hand.spend(V1, name, at, micros)
            key = (name, calendar.day(name, _ms(at)))
            expected[key] = expected.get(key, 0) + micros
    ends = {key: _last_minute(calendar, *key) + timedelta(minutes=1) for key in expected}
    for through in draw.sample(sorted(set(ends.values())), 12):
        hand.through(JOB, V1, through)
        shown = hand.execute("select client_id, budget_day, spend_micros, finality from serving.client_spend_day")
        wanted = {key: (micros, PROVISIONAL if ends[key] <= through else OPEN) for key, micros in expected.items()}
        assert {(name, day): (int(micros), how) for name, day, micros, how in shown} == wanted, f"seed {seed}"


def _moves(draw: random.Random, name: str) -> list[Client]:
    """A client's rows: up to four moves within a week or a year."""
    base = date(draw.choice([1993, 2011, 2018, 2026]), draw.choice([3, 8, 10, 12]), 20)
    zones, spread = draw.choice([(ZONES, 4), (ZONES, 300), (FAR_APART, 4), (FAR_APART, 4)])
    dates = {base + timedelta(days=draw.randrange(spread)) for _ in range(draw.randrange(1, 7))}
    return [Client(name, since, draw.choice(zones), "EUR", 10) for since in sorted(dates)]


def _around(draw: random.Random, name: str, clients: list[Client]) -> set[datetime]:
    """Minutes near the moves, most of them within the hour before or after a local midnight."""
    own = [client for client in clients if client.client_id == name]
    starts = [datetime.combine(client.valid_from, time(), ZoneInfo(client.time_zone)).astimezone(UTC) for client in own]
    near = {start + timedelta(minutes=draw.randrange(-90, 90)) for start in starts for _ in range(6)}
    return near | {start + timedelta(minutes=draw.randrange(-2_000, 4_000)) for start in starts for _ in range(3)}


def _last_minute(calendar: Calendar, name: str, day: date) -> datetime:
    """The last minute of a client's day, by looking at each."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    around = (noon + timedelta(minutes=number) for number in range(60 * 48, -60 * 48, -1))
    return next(at for at in around if calendar.day(name, _ms(at)) == day)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
