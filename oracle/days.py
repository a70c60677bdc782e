"""Days of the clients' own calendars as sums of minutes (contract, section 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from oracle.fates import MINUTE_MS, Row

_A_DAY = timedelta(days=1)
_Zones = tuple[tuple[date, str], ...]
"""(valid from, time zone), the newest first."""
Windows = range | tuple[int, ...]
"""Starts (ms) of minutes, in order; a range where none is missing in between, since there may be many days."""


@dataclass(frozen=True)
class Client:
    """A row of reference.client: it holds from local midnight of `valid_from` until the next row's."""

    client_id: str
    valid_from: date
    time_zone: str
    currency: str | None
    daily_budget_micros: int | None


@dataclass
class Day:
    """What a client's day must show; money in micros."""

    time_zone: str
    currency: str | None
    budget_micros: int | None
    impressions: int = 0
    clicks: int = 0
    spend_micros: int = 0


class Calendar:
    """Which local day an instant falls into, per client."""

    def __init__(self, clients: Iterable[Client]) -> None:
        self._newest_first: defaultdict[str, list[Client]] = defaultdict(list)
        for client in sorted(clients, key=lambda row: row.valid_from, reverse=True):
            self._newest_first[client.client_id].append(client)
        self._zones: dict[str, _Zones] = {
            client_id: tuple((row.valid_from, row.time_zone) for row in rows)
            for client_id, rows in self._newest_first.items()
        }

    def day(self, client_id: str, at_ms: int) -> date:
        """The date by the newest row that holds already on its own calendar; by UTC before any."""
        return _day(self._zones.get(client_id, ()), at_ms)

    def windows(self, client_id: str, day: date) -> Windows:
        """The starts (ms) of all minutes that fall on a client's day, in order; a move may leave gaps between them."""
        zones: list[tuple[date, str]] = []
        for valid_from, time_zone in self._zones.get(client_id, ()):
            if valid_from <= day - 2 * _A_DAY:
                zones.append((date.min, time_zone))
                break
            zones.append((valid_from, time_zone))
        return _windows(tuple(zones), day)

    def blank(self, client_id: str, day: date) -> Day:
        """The day without events: zone, currency and budget of the newest row valid from that day or
        before."""
        for row in self._newest_first.get(client_id, ()):
            if row.valid_from <= day:
                return Day(row.time_zone, row.currency, row.daily_budget_micros)
        return Day("UTC", None, None)


def days(minutes: Mapping[tuple[object, ...], Row], calendar: Calendar) -> dict[tuple[str, date], Day]:
    """(client_id, local date) -> Day, from (client_id, minute start in ms) -> Row."""
    found: dict[tuple[str, date], Day] = {}
    for (client_id, minute), row in minutes.items():
        assert isinstance(client_id, str)
        assert isinstance(minute, int)
        key = (client_id, calendar.day(client_id, minute))
        day = found.setdefault(key, calendar.blank(*key))
        day.impressions += row.impressions
        day.clicks += row.clicks
        day.spend_micros += row.spend_micros
    return found


def _day(zones: _Zones, at_ms: int) -> date:
    for valid_from, time_zone in zones:
        local = _local_date(time_zone, at_ms)
        if local >= valid_from:
            return local
    return _local_date("UTC", at_ms)


@cache
def _windows(zones: _Zones, day: date) -> Windows:
    """By looking at each minute; no calendar is more than a day away from UTC's. Clients of equal zones share it."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    first, last = (round((midnight + days * _A_DAY).timestamp()) * 1000 for days in (-1, 2))
    found = tuple(minute for minute in range(first, last, MINUTE_MS) if _day(zones, minute) == day)
    whole = range(found[0], found[-1] + 1, MINUTE_MS) if found else range(0)
    return whole if len(whole) == len(found) else found


def _local_date(time_zone: str, at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms // 1000, UTC).astimezone(_zone(time_zone)).date()


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
