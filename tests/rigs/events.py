"""Records for the log of a rig: single events told by what matters in them, and seeded mixtures of everything."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from traffic.records import Record
from traffic.shape import Fractions, Shape
from traffic.sources import plan_synthetic

DISTURBED = Fractions(
    out_of_order=0.05, resends=0.1, repeated_clicks=0.03, late=0.01, future=0.005, malformed=0.01
)  # fmt: skip
"""Something of every fate."""


class Sent(NamedTuple):
    """A record on its way into the log; without a partition the key decides."""

    key: bytes | None
    value: bytes | None
    partition: int | None = None


def event(number: int, *, partition: int | None = None, ago_ms: int = 5_000, **fields: Any) -> Sent:
    """An impression of a user of its own that happened `ago_ms` before now; `fields` override the event's."""
    told: dict[str, Any] = {
        "event_id": str(UUID(int=number)),
        "event_type": "impression",
        "slot_id": "s1",
        "client_id": "c1",
        "ad_id": "a1",
        "user_id": f"u{number}",
        "event_time": round(time.time() * 1000) - ago_ms,
        "cost_micros": 1_000 + number,
        **fields,
    }
    return Sent(str(told["user_id"]).encode(), json.dumps(told).encode(), partition)


def events(count: int, first: int = 0, **fields: Any) -> list[Sent]:
    """So many different impressions, numbered from `first`."""
    return [event(number, **fields) for number in range(first, first + count)]


def mixture(seed: int, count: int) -> list[Sent]:
    """Synthetic traffic of the last hour with something of every fate; equal but for its times for equal seeds."""
    shape = Shape(seed, count, ads=20, clients=4, users=200, ctr=0.2, fractions=DISTURBED)
    records: Sequence[Record] = list(plan_synthetic(round(time.time() * 1000), shape, 3_600.0, None).records)
    return [Sent(record.key, record.value) for record in records]
