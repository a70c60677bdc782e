"""Records around a window's edge T, of a client of their own: early, in time, resent, late, and after the staging."""

from __future__ import annotations

import json
import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from confluent_kafka import Producer

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import MINUTE_MS
from tests.rigs.running_stack import ALLOWED_LATENESS_MS, Stack

CLIENT, USER = "edge", "u-edge"
LATE_MS = ALLOWED_LATENESS_MS + MINUTE_MS
AHEAD_MS, AFTER_MS = 15_000, 3_000
"""How long before T the early ones are sent at least, and how long after T the others."""
Row = tuple[int, int, int, int, int]
"""impressions, clicks, spend_micros, duplicates, repeated_clicks"""

BEFORE_T: dict[str, Row] = {"last": (1, 0, 3, 1, 0), "tardy": (1, 0, 11, 0, 0)}
"""The rows of the window before T, by ad."""
FROM_T: dict[str, Row] = {"clicked": (0, 2, 10, 0, 0), "early": (1, 0, 7, 1, 0), "first": (1, 0, 13, 0, 0)}
"""The rows of the window from T on: the clicks lie in two intervals of 10 s, and in one of 30 s."""


@dataclass
class Edge:
    """T, chosen ahead of now, and the records around it; `begin` has them sent in their time."""

    settings: Settings
    at_ms: int = field(default_factory=lambda: next_edge_ms(_now_ms() + AHEAD_MS))

    def __post_init__(self) -> None:
        self._sender = threading.Thread(target=self._send, name="edge", daemon=True)

    @property
    def at(self) -> datetime:
        """T."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC)

    @property
    def text(self) -> str:
        """T for an option."""
        return self.at.strftime("%Y-%m-%dT%H:%MZ")

    def begin(self) -> None:
        """Send what comes before T now, and the rest when T is over, on a thread that ends with that."""
        self._sender.start()

    def await_sent(self) -> None:
        """Wait until all of them are in the log: from then on nobody writes to it but the test."""
        self._sender.join(120)
        assert not self._sender.is_alive(), "the records around T were never all sent"

    def send_stale(self) -> None:
        """A record of the window before T, long after it."""
        self._produce([self._record("impression", "tardy", -5_000, 1_000)])

    def served(self, stack: Stack) -> tuple[dict[str, Row], dict[str, Row]]:
        """The rows of the two windows, by ad."""
        before, after = (self._window(stack, self.at - timedelta(minutes=1)), self._window(stack, self.at))
        return before, after

    def _send(self) -> None:
        last, early = self._record("impression", "last", -1, 3), self._record("impression", "early", 30_000, 7)
        clicks = [self._record("click", "clicked", offset, 5) for offset in (1_000, 15_000)]
        self._produce([last, early, *clicks])
        time.sleep(max(0, self.at_ms + AFTER_MS - _now_ms()) / 1000)
        tardy, first = self._record("impression", "tardy", -5_000, 11), self._record("impression", "first", 0, 13)
        late = self._record("impression", "late", -LATE_MS, 17)
        self._produce([last, early, tardy, first, late])

    def _record(self, kind: str, ad: str, after_t_ms: int, cost_micros: int) -> bytes:
        fields = {
            "event_id": str(uuid.uuid4()), "event_type": kind, "slot_id": "s", "client_id": CLIENT, "ad_id": ad,
            "user_id": USER, "event_time": self.at_ms + after_t_ms, "cost_micros": cost_micros,
        }  # fmt: skip
        return json.dumps(fields).encode()

    def _produce(self, values: list[bytes]) -> None:
        producer = Producer(
            {**self.settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), "partitioner": "murmur2_random"}
        )
        for value in values:
            producer.produce(self.settings.topic.name, value, key=USER)
        assert producer.flush(30) == 0

    @staticmethod
    def _window(stack: Stack, at: datetime) -> dict[str, Row]:
        query = (
            "select ad_id, impressions, clicks, spend_micros::bigint, duplicates, repeated_clicks "
            "from serving.ad_ctr_minute where client_id = %s and window_start = %s"
        )
        return {ad: (a, b, c, d, e) for ad, a, b, c, d, e in stack.query(query, CLIENT, at)}


def next_edge_ms(at_ms: int) -> int:
    """The first window edge at or after a time."""
    return -(-at_ms // MINUTE_MS) * MINUTE_MS


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
