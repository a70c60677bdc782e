"""A small log of one client, and what the three jobs must show of it; a test changes what it is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import md5
from typing import Any

from oracle.days import Client
from oracle.decode import LogRecord
from oracle.fates import FATES, Kept, Rules
from oracle.reconcile import Verdict, reconcile
from oracle.served import Segment, Served, ServedDay, ServedRow, ServingVersion, Snapshot, Told
from tests.oracle.fake_ports import FakeClock, FakeDatabase, FakeTopic

NOON = 1_700_049_600_000
"""15 November 2023, 12:00 UTC."""
MINUTE, HOUR = 60_000, 3_600_000
LATENESS = 2 * HOUR
RULES = Rules(LATENESS, 300_000, 10_000, None)
KEY, DAY = ("c1", "a1", NOON), ("c1", date(2023, 11, 15))
READ = NOON + 1_000
"""When all records of the log were appended."""
DRAINED = NOON + 10_000
AT = NOON + 20_000
WHOLE = (Segment(None, None, 1),)


def record(offset: int, kind: str, event_id: int, at: int = NOON, cost: int = 5, append: int = READ) -> LogRecord:
    """A good record of partition 0."""
    value = {"event_id": f"00000000-0000-4000-8000-{event_id:012x}", "event_type": kind, "slot_id": "s1"}
    value |= {"client_id": "c1", "ad_id": "a1", "user_id": "u1"}
    return LogRecord(
        0, offset, append, True, b"u1", json.dumps({**value, "event_time": at, "cost_micros": cost}).encode()
    )


LOG = [
    record(0, "impression", 1),
    record(1, "impression", 1),
    record(2, "impression", 2),
    record(3, "impression", 3, at=NOON + 1),
    record(4, "click", 4, cost=100),
    LogRecord(0, 5, NOON, True, b"u1", b"oops"),
    record(6, "impression", 6, at=NOON - 8_000_000),
]
RECORDS = {"read": 7, "counted": 4, "duplicate": 1, "late": 1, "dead_letter": 1}
MICROS = {"counted": 115, "duplicate": 5, "late": 5}


def version(number: int = 1, rules: Rules = RULES, **more: Any) -> ServingVersion:
    """A version that has read the whole log, and nothing was unread at DRAINED."""
    records = {name: RECORDS.get(name, 0) for name in ("read", *FATES)}
    micros = {fate: MICROS.get(fate, 0) for fate in FATES if fate != "dead_letter"}
    held = ServingVersion(number, "ads", rules, {0: 0}, {0: 7}, {0: Told(READ, DRAINED)}, records, micros)
    return replace(held, **more)


def through(of: ServingVersion) -> int:
    """Its complete_through, as the views compute it."""
    told = of.told[0]
    return max(told.read_ms or 0, told.drained_ms or 0) - of.rules.allowed_lateness_ms - MINUTE


def served(job: str, *versions: ServingVersion, segments: tuple[Segment, ...] = WHOLE, **more: Any) -> Served:
    """A job of these versions."""
    held = {each.version: each for each in versions or (version(),)}
    return Served(job, segments, held, **{"complete_through": through(held[segments[-1].version]), **more})


def ad_ctr(*versions: ServingVersion, **row: Any) -> Served:
    """The job with its one row, whose columns may be told otherwise."""
    shown = ServedRow(3, 1, 115, 1, 0, Decimal("0.33333333333333333333"), False)
    return served("ad_ctr", *versions, keys=("client_id", "ad_id"), minutes={KEY: replace(shown, **row)})


def client_spend(*versions: ServingVersion, **day: Any) -> Served:
    """The job with its one day, whose columns may be told otherwise."""
    shown = ServedDay("UTC", None, None, 3, 1, 115, "open")
    return served("client_spend", *versions, days={DAY: replace(shown, **day)})


def quarantine(rows: Mapping[tuple[int, int], Kept] | None = None, rules: Rules | None = None) -> Served:
    """The job with what it keeps."""
    own = version(rules=rules or replace(RULES, click_interval_ms=None))
    own = replace(own, records={**own.records, "counted": 5, "duplicate": 0})
    own = replace(own, micros={**own.micros, "counted": 120, "duplicate": 0})
    return served("quarantine", own, quarantine=dict(KEPT if rows is None else rows))


def _kept(of: LogRecord, fate: str) -> Kept:
    assert of.key is not None
    assert of.value is not None
    return Kept("ads", of.append_time, fate, True, md5(of.key).hexdigest(), md5(of.value).hexdigest(), len(of.value))


KEPT = {(0, 5): _kept(LOG[5], "dead_letter"), (0, 6): _kept(LOG[6], "late")}


def verdict(
    *jobs: Served, log: list[LogRecord] = LOG, first: int = 0, at: int = AT, clients: tuple[Client, ...] = ()
) -> Verdict:
    """What the oracle says of these jobs over a log of one partition."""
    topic = FakeTopic({0: log}, {0: first})
    return reconcile(topic, FakeDatabase(Snapshot(jobs, clients, at)), None, 0, FakeClock())


def said(found: Verdict) -> list[tuple[str, object, object]]:
    """The differences: column, what must be, what is."""
    return [(each.column, each.expected, each.served) for each in found.differences]


def ms(text: str) -> int:
    """A time in UTC of ISO text, in epoch ms."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def all_late(count: int) -> dict[str, int]:
    """The books of a version that read so many records, none of them in time."""
    return {name: count * (name in ("read", "late")) for name in ("read", *FATES)}
