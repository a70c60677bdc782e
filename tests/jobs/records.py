"""Records of the log, made by hand for tests."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

MINUTE = 60_000
NOON = 1_795_262_400_000
"""A full minute, epoch ms."""


def record(offset: int, *, partition: int = 0, append_ms: int | None = None, **fields: Any) -> tuple[Any, ...]:
    """A RECORD row; `fields` override those of an impression at NOON; append_time is event_time unless given."""
    event = {
        "event_id": str(UUID(int=offset)),
        "event_type": "impression",
        "slot_id": "s",
        "client_id": "c",
        "ad_id": "a",
        "user_id": "u",
        "event_time": NOON,
        "cost_micros": 5,
        **fields,
    }
    appended = event["event_time"] if append_ms is None else append_ms
    return (partition, offset, appended, True, str(event["user_id"]).encode(), json.dumps(event).encode())


def uuid(number: int) -> str:
    """The event_id that `record` gives to an offset."""
    return str(UUID(int=number))
