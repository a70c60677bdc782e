"""Records of a small log, and a part of a number that a version made of it."""

from __future__ import annotations

import json

from oracle.decode import LogRecord
from oracle.explain import Number, Part
from oracle.fates import Rules

NOON = 1_700_049_600_000
MINUTE, HOURS_2, MINUTES_5 = 60_000, 7_200_000, 300_000
RULES = Rules(HOURS_2, MINUTES_5, 10_000, None)
NUMBER = Number("ad_ctr", "c1", "a1", NOON)


def record(
    offset: int,
    kind: str = "impression",
    event_id: int = 1,
    at: int = NOON,
    append: int | None = None,
    partition: int = 0,
    cost: int = 5,
    **more: str,
) -> LogRecord:
    """A good record; appended a second after its event unless told."""
    members = {"event_id": f"00000000-0000-4000-8000-{event_id:012x}", "event_type": kind, "slot_id": "s1"}
    members |= {"client_id": "c1", "ad_id": "a1", "user_id": "u1", **more}
    value = json.dumps({**members, "event_time": at, "cost_micros": cost}).encode()
    appended = at + 1_000 if append is None else append
    return LogRecord(partition, offset, appended, True, members["user_id"].encode(), value)


def part(end: int = 100, rules: Rules = RULES, version: int = 1, start: int = 0, *minutes: int) -> Part:
    """What a version read of partition 0."""
    return Part(version, rules, {0: start}, {0: end}, frozenset(minutes or (NOON,)))
