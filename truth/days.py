"""Days of the clients' own calendars as sums of minutes (contract, section 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from zoneinfo import ZoneInfo

from truth.fates import Row


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

    def day(self, client_id: str, at_ms: int) -> date:
        """The date by the newest row that holds already on its own calendar; by UTC before any."""
        for row in self._newest_first.get(client_id, ()):
            local = _local_date(row.time_zone, at_ms)
            if local >= row.valid_from:
                return local
        return _local_date("UTC", at_ms)

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


def _local_date(time_zone: str, at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms // 1000, UTC).astimezone(_zone(time_zone)).date()


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
