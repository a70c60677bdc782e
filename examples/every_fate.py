"""Writes eight records of one user, of now, as NDJSON: one or more for each fate but `before_start`,
which only a version that starts at a T has.

`python3 examples/every_fate.py > /tmp/every_fate.ndjson && ./kappa produce --source /tmp/every_fate.ndjson --as-is`
"""

from __future__ import annotations

import json
import time
from uuid import uuid4

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


def records(now_ms: int) -> list[dict[str, object]]:
    """The records in the order in which they are to be sent, as of this time (epoch ms).

    Those that belong together lie in one click interval, the last full one of 10 s.
    """
    interval_ms = now_ms // 10_000 * 10_000 - 10_000
    first, click = _event("impression", interval_ms, 150), _event("click", interval_ms + 2_000, 250_000)
    return [
        first,
        _event("impression", interval_ms + 1_000, 150),
        click,
        first,
        {**click, "event_id": str(uuid4()), "event_time": interval_ms + 5_000},
        _event("impression", now_ms - 3 * HOUR_MS, 150),
        _event("impression", now_ms + 10 * MINUTE_MS, 150),
        _event("impression", interval_ms, -1),
    ]


def _event(event_type: str, event_time: int, cost_micros: int) -> dict[str, object]:
    """An event by the contract, section 1."""
    return {
        "event_id": str(uuid4()), "event_type": event_type, "slot_id": "top", "client_id": "example", "ad_id": "shoes",
        "user_id": "ada", "event_time": event_time, "cost_micros": cost_micros,
    }  # fmt: skip


if __name__ == "__main__":
    for record in records(time.time_ns() // 1_000_000):
        print(json.dumps(record))
