"""The fate of each record by the contract, section 2, decided from the log alone, in the order of each
partition."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from hashlib import md5

from oracle.decode import Event, LogRecord

DEAD_LETTER, BEFORE_START, FUTURE, LATE = "dead_letter", "before_start", "future", "late"
DUPLICATE, REPEATED_CLICK, COUNTED = "duplicate", "repeated_click", "counted"
FATES = (DEAD_LETTER, BEFORE_START, FUTURE, LATE, DUPLICATE, REPEATED_CLICK, COUNTED)
REFUSED = frozenset((DEAD_LETTER, BEFORE_START, FUTURE, LATE))
QUARANTINED = frozenset((DEAD_LETTER, FUTURE, LATE))
MINUTE_MS = 60_000
CLOCKS_MS = 60_000
"""How far the broker's clock may go back, or differ from the database's (contract, section 3, Finality)."""
_VALUE_BYTES, _KEY_BYTES = 4_096, 256
"""So much of a refused record is kept; of what was refused in earlier releases the whole key."""


@dataclass(frozen=True)
class Rules:
    """A version's settings that decide fates, all ms; `click_interval_ms` None: it counts what it does not
    refuse."""

    allowed_lateness_ms: int
    future_bound_ms: int
    click_interval_ms: int | None
    starts_at: int | None


@dataclass(frozen=True)
class Reading:
    """What a version read and by which rules: partition -> first offset, partition -> offset after the
    last."""

    rules: Rules
    start: tuple[tuple[int, int], ...]
    end: tuple[tuple[int, int], ...]
    topic: str = ""


class Judge:
    """Decides the fates of one reading; it remembers what it counted."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._counted: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)

    def fate(self, record: LogRecord, event: Event | str) -> str:
        """The first line of the contract's table that applies."""
        if isinstance(event, str):
            return DEAD_LETTER
        rules, at = self._rules, event.event_time
        if rules.starts_at is not None and at < rules.starts_at:
            return BEFORE_START
        if at - record.append_time > rules.future_bound_ms:
            return FUTURE
        if record.append_time - at > rules.allowed_lateness_ms:
            return LATE
        if rules.click_interval_ms is None:
            return COUNTED
        return self._first_or_again(record.partition, event, rules.click_interval_ms)

    def _first_or_again(self, partition: int, event: Event, interval_ms: int) -> str:
        group, identity = sameness(partition, event, interval_ms)
        seen = self._counted[group]
        if identity in seen:
            return REPEATED_CLICK if event.is_click else DUPLICATE
        seen.add(identity)
        return COUNTED


def sameness(partition: int, event: Event, interval_ms: int) -> tuple[tuple[object, ...], str]:
    """A group and an identity: of the records that have both alike and are not refused, the first one in the
    partition counts. All of a group lie in one minute, since the interval divides it."""
    span = interval_ms if event.is_click else MINUTE_MS
    group = (partition, event.is_click, event.client_id, event.ad_id, event.event_time // span)
    return group, event.user_id if event.is_click else event.event_id


@dataclass
class Row:
    """What one key and minute must show; spend in micros."""

    impressions: int = 0
    clicks: int = 0
    spend_micros: int = 0
    duplicates: int = 0
    repeated_clicks: int = 0


@dataclass(frozen=True)
class Kept:
    """A record in quarantine; of its value the MD5 of the first 4 KiB, of its key of the first 256 bytes, so that many
    fit into memory.

    `value_bytes` is the length of the whole value; `has_reason`: some words say why, whichever they are.
    """

    topic: str
    append_time: int
    fate: str
    has_reason: bool
    key: str | None
    value: str | None
    value_bytes: int | None


class Ledger:
    """All that one reading comes to: records and micros by fate, refused records, rows per key and minute.

    `rows`: fields -> (values of the fields..., minute start in ms) -> Row, for each tuple of fields in
    `groupings`. `kept`: (partition, offset) -> what must be in quarantine, if it `keeps` that. The rest is by
    partition: `first`, the first offset from the reading's start on that the log still holds; and append times (ms, of
    the broker's stamps only): of the first record from there on, the newest that was read, the oldest that was not.
    """

    def __init__(self, reading: Reading, groupings: frozenset[tuple[str, ...]], keeps: bool = False) -> None:
        self.reading = reading
        self.read = 0
        self.records: Counter[str] = Counter()
        self.micros: Counter[str] = Counter()
        self.kept: dict[tuple[int, int], Kept] = {}
        self.rows: dict[tuple[str, ...], dict[tuple[object, ...], Row]] = {fields: {} for fields in groupings}
        self.first: dict[int, int] = {}
        self.first_append: dict[int, int] = {}
        self.newest: dict[int, int] = {}
        self.unread: dict[int, int] = {}
        self._keeps = keeps
        self._places = {fields: tuple(Event._fields.index(name) for name in fields) for fields in groupings}
        self._start, self._end = dict(reading.start), dict(reading.end)
        self._judge = Judge(reading.rules)

    def take(self, record: LogRecord, event: Event | str) -> None:
        """Enter one record; of one that the version did not read, only when it was appended."""
        partition, offset = record.partition, record.offset
        if partition not in self._start or offset < self._start[partition]:
            return
        is_read = offset < self._end.get(partition, 0)
        self._note_time(record, is_read)
        if is_read:
            self._judged(record, event)

    def _note_time(self, record: LogRecord, is_read: bool) -> None:
        partition, at = record.partition, record.append_time
        self.first.setdefault(partition, record.offset)
        if not record.stamped:
            return
        self.first_append.setdefault(partition, at)
        if is_read:
            self.newest[partition] = max(self.newest.get(partition, at), at)
        else:
            self.unread[partition] = min(self.unread.get(partition, at), at)

    def _judged(self, record: LogRecord, event: Event | str) -> None:
        fate = self._judge.fate(record, event)
        self.read += 1
        self.records[fate] += 1
        if self._keeps and fate in QUARANTINED:
            self.kept[record.partition, record.offset] = _kept(self.reading.topic, record, fate)
        if isinstance(event, str):
            return
        self.micros[fate] += event.cost_micros
        if fate not in REFUSED:
            self._enter(fate, event)

    def _enter(self, fate: str, event: Event) -> None:
        minute = event.event_time // MINUTE_MS * MINUTE_MS
        for fields, rows in self.rows.items():
            key = (*[event[place] for place in self._places[fields]], minute)
            row = rows.get(key)
            if row is None:
                row = rows[key] = Row()
            enter(row, fate, event)


def enter(row: Row, fate: str, event: Event) -> None:
    """Add an event that was not refused to its row."""
    if fate == DUPLICATE:
        row.duplicates += 1
    elif fate == REPEATED_CLICK:
        row.repeated_clicks += 1
    else:
        row.clicks += event.is_click
        row.impressions += not event.is_click
        row.spend_micros += event.cost_micros


def _kept(topic: str, record: LogRecord, fate: str) -> Kept:
    size = None if record.value is None else len(record.value)
    key, value = _digest(record.key, _KEY_BYTES), _digest(record.value, _VALUE_BYTES)
    return Kept(topic, record.append_time, fate, True, key, value, size)


def _digest(content: bytes | None, most: int) -> str | None:
    return None if content is None else md5(content[:most], usedforsecurity=False).hexdigest()
