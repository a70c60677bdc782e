"""What one served number is made of: the records of its windows with their fates, and what they add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from oracle.compare import Difference, ctr_holds
from oracle.days import Calendar
from oracle.decode import Event, LogRecord, decode
from oracle.fates import (
    CLOCKS_MS,
    DUPLICATE,
    FATES,
    MINUTE_MS,
    REFUSED,
    REPEATED_CLICK,
    Judge,
    Row,
    Rules,
    enter,
    sameness,
)
from oracle.times import utc

_DAY_COLUMNS = ("impressions", "clicks", "spend_micros")
_MINUTE_COLUMNS = (*_DAY_COLUMNS, "duplicates", "repeated_clicks")


@dataclass(frozen=True)
class Number:
    """A row of a serving view: an ad's `minute` (its start, ms), or a client's `day`, then without ad and minute."""

    job: str
    client_id: str
    ad_id: str | None = None
    minute: int | None = None
    day: date | None = None

    @property
    def view(self) -> str:
        """The serving view that has the row."""
        return f"serving.{self.job}_{'minute' if self.day is None else 'day'}"

    @property
    def key(self) -> str:
        """The row's key in words."""
        if self.minute is None:
            return f"client {self.client_id}, day {self.day}"
        return f"client {self.client_id}, ad {self.ad_id}, minute {utc(self.minute)}"

    def minutes(self, calendar: Calendar) -> frozenset[int]:
        """The starts (ms) of its windows; those of a day are all whose start falls on that date for the client."""
        if self.minute is not None:
            return frozenset((self.minute,))
        assert self.day is not None
        return frozenset(calendar.windows(self.client_id, self.day))

    def may_hold(self, record: LogRecord) -> bool:
        """False where the record cannot be an event of the client, without decoding it: an id is ASCII, so it stands in
        the value as it is, unless JSON escapes (backslashes) spell it."""
        return record.value is not None and (self.client_id.encode() in record.value or b"\\" in record.value)

    def holds(self, event: Event, minutes: frozenset[int]) -> bool:
        """Whether the event is one of this number, `minutes` being some of its windows."""
        ours = event.client_id == self.client_id and self.ad_id in (None, event.ad_id)
        return ours and event.event_time // MINUTE_MS * MINUTE_MS in minutes


@dataclass(frozen=True)
class Part:
    """The windows of a number that one version serves; `start`, `end`: partition -> its first, its next offset."""

    version: int
    rules: Rules
    start: Mapping[int, int]
    end: Mapping[int, int]
    minutes: frozenset[int]

    @property
    def span(self) -> tuple[int, int]:
        """The append times (ms, the second excluded) between which all records lie that these windows can count.

        Why that is all: a record that is accepted has event_time - append_time <= future bound, so it is appended at or
        after the first window less the future bound; and append_time - event_time <= allowed lateness, so before the
        last window's end and the lateness. What is outside of it is refused, whatever else is in the log. Fates of
        duplicates and repeated clicks look at accepted records of the same minute and partition only, which
        therefore lie between the same two times: nothing before is needed to decide them. The minute on top is for a
        broker's clock that went back. A late or future record of these windows may lie outside; it counts nowhere,
        and ops.quarantine keeps it.
        """
        first, last = min(self.minutes), max(self.minutes) + MINUTE_MS
        return max(0, first - self.rules.future_bound_ms), last + self.rules.allowed_lateness_ms + CLOCKS_MS


@dataclass(frozen=True)
class Fated:
    """A record of the number; times in ms. `first`: the offset of the copy (or click) that counted instead of it."""

    version: int
    partition: int
    offset: int
    append_time: int
    event_time: int
    event_type: str
    cost_micros: int
    fate: str
    first: int | None = None


@dataclass(frozen=True)
class Examined:
    """What the log holds of a part: its records in append order, what they add up to (None: no record was accepted),
    how many records were read for it, and where: partition -> (first offset, after the last)."""

    records: tuple[Fated, ...]
    row: Row | None
    count: int
    read: Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class Total:
    """Records and micros of one fate."""

    records: int
    micros: int


def examine(number: Number, part: Part, records: Iterable[LogRecord]) -> Examined:
    """Judge a part's records, by the rules of its version. `records`: those of its span, in order per partition; what
    the version did not read is left out."""
    judge, firsts = Judge(part.rules), dict[object, int]()
    row, found, count = Row(), list[Fated](), 0
    read: dict[int, tuple[int, int]] = {}
    for record in records:
        at = record.offset
        if not part.start.get(record.partition, at + 1) <= at < part.end.get(record.partition, 0):
            continue
        count += 1
        read[record.partition] = (read.get(record.partition, (at, at))[0], at + 1)
        event = decode(record) if number.may_hold(record) else "of another client"
        if isinstance(event, str) or not number.holds(event, part.minutes):
            continue
        fate = judge.fate(record, event)
        if fate not in REFUSED:
            enter(row, fate, event)
        found.append(_fated(part, record, event, fate, firsts))
    found.sort(key=lambda each: (each.append_time, each.partition, each.offset))
    counted_any = any(each.fate not in REFUSED for each in found)
    return Examined(tuple(found), row if counted_any else None, count, read)


def _fated(part: Part, record: LogRecord, event: Event, fate: str, firsts: dict[object, int]) -> Fated:
    """The record as it is shown; `firsts` learns which offset was the first of its sameness."""
    first = None
    if fate not in REFUSED and part.rules.click_interval_ms is not None:
        same = sameness(record.partition, event, part.rules.click_interval_ms)
        offset = firsts.setdefault(same, record.offset)
        first = offset if fate in (DUPLICATE, REPEATED_CLICK) else None
    kind = "click" if event.is_click else "impression"
    return Fated(
        part.version,
        record.partition,
        record.offset,
        record.append_time,
        event.event_time,
        kind,
        event.cost_micros,
        fate,
        first,
    )


def added(rows: Iterable[Row | None]) -> Row | None:
    """The sum of rows; None where there is none."""
    there = [row for row in rows if row is not None]
    if not there:
        return None
    return Row(**{name: sum(getattr(row, name) for row in there) for name in _MINUTE_COLUMNS})


def totals(records: Iterable[Fated]) -> dict[str, Total]:
    """Each fate that occurs, in the order of the contract, with its records and micros."""
    counts, micros = Counter[str](), Counter[str]()
    for record in records:
        counts[record.fate] += 1
        micros[record.fate] += record.cost_micros
    return {fate: Total(counts[fate], micros[fate]) for fate in FATES if counts[fate]}


def held_against(number: Number, row: Row | None, served: Mapping[str, object] | None) -> list[Difference]:
    """Each column of the served row that is not what the records add up to."""

    def difference(column: str, expected: object, shown: object) -> Difference:
        return Difference(number.job, number.view, number.key, column, expected, shown)

    if row is None or served is None:
        wanted_row = None if row is None else expected(number, row)
        return [] if wanted_row is None and served is None else [difference("(row)", wanted_row, served)]
    found = [
        difference(column, wanted, served[column])
        for column, wanted in expected(number, row).items()
        if served[column] != wanted
    ]
    ctr = served.get("ctr")
    assert ctr is None or isinstance(ctr, Decimal)
    if "ctr" in served and not ctr_holds(ctr, row.clicks, row.impressions):
        found.append(difference("ctr", f"{row.clicks}/{row.impressions}", ctr))
    return found


def expected(number: Number, row: Row) -> dict[str, int]:
    """The columns that the served row must show."""
    return {column: getattr(row, column) for column in (_MINUTE_COLUMNS if number.day is None else _DAY_COLUMNS)}
