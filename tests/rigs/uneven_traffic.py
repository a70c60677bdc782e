"""A log whose partitions reach back unevenly far: hours of append times in partition 0, minutes in partition 1."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from bench.load import now_ms
from bench.report import say
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from tests.rigs.moved_broker import BrokerClock
from traffic.records import Event, encode

OLDEST_EVENT_MS = 6_900_000
"""How far event_time lies behind append_time at most: 1 h 55 min, within the allowed lateness of 2 h."""
CLICKS, RESENDS = 0.05, 0.05
ADS, CLIENTS, USERS = 200, 20, 5_000
SETTLE_SECONDS = 0.5


class NotDelivered(Refusal):
    """A record of the backlog did not reach the log."""

    def __init__(self, error: object) -> None:
        super().__init__(f"a record was not delivered ({error}); the bench measured nothing.")


@dataclass(frozen=True)
class Chunk:
    """What is appended while the broker's clock is `behind_seconds` behind: partition -> number of records."""

    behind_seconds: int
    records: dict[int, int]


def chunks(long_seconds: int, short_seconds: int, step_seconds: int, records: tuple[int, int]) -> list[Chunk]:
    """The backlog in order of append time; `records` in all of partition 0 (the long one) and of partition 1."""
    behind = list(range(long_seconds, -1, -step_seconds))
    both = [seconds <= short_seconds for seconds in behind]
    long, short = _split(records[0], len(behind)), iter(_split(records[1], sum(both)))
    return [
        Chunk(seconds, {0: first, 1: next(short) if has_both else 0})
        for seconds, first, has_both in zip(behind, long, both, strict=True)
    ]


def events(partition: int, count: int, appended_ms: int, rng: random.Random) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values: impressions, clicks and resends, up to OLDEST_EVENT_MS older than `appended_ms`, in no order."""
    sent: list[tuple[bytes, bytes]] = []
    for _ in range(count):
        if sent and rng.random() < RESENDS:
            yield rng.choice(sent)
            continue
        event = _event(partition, appended_ms, rng)
        sent.append((event.user_id.encode(), encode(event)))
        yield sent[-1]


class UnevenProducer:
    """Appends chunks, each at its time of the broker's clock."""

    def __init__(self, settings: Settings, clock: BrokerClock, seed: int) -> None:
        self._topic, self._clock, self._rng = settings.topic.name, clock, random.Random(seed)
        self._error: KafkaError | None = None
        self._producer = Producer(
            {
                **settings.kafka_access(KafkaUser.ADMIN).librdkafka(),
                "enable.idempotence": True,
                "linger.ms": 5,
                "log_level": 2,
                "on_delivery": self._note,
            }
        )

    def append(self, planned: list[Chunk]) -> None:
        """All chunks, moving the clock forward before each. Raises NotDelivered."""
        for number, chunk in enumerate(planned, 1):
            self._clock.set_behind(chunk.behind_seconds)
            time.sleep(SETTLE_SECONDS)
            self._append(chunk)
            if number % 10 == 0 or number == len(planned):
                say(f"appended {number} of {len(planned)} chunks")

    def _append(self, chunk: Chunk) -> None:
        appended_ms = now_ms() - chunk.behind_seconds * 1000
        for partition, count in chunk.records.items():
            for key, value in events(partition, count, appended_ms, self._rng):
                self._producer.produce(self._topic, value, key, partition)
                self._producer.poll(0)
        if self._producer.flush(60) or self._error is not None:
            raise NotDelivered(self._error or "no answer within 60 s")

    def _note(self, error: KafkaError | None, _: Message) -> None:
        self._error = self._error or error


def _event(partition: int, appended_ms: int, rng: random.Random) -> Event:
    ad = rng.randrange(ADS)
    client = f"c{ad % CLIENTS}"
    return Event(
        str(uuid.UUID(int=rng.getrandbits(128))),
        "click" if rng.random() < CLICKS else "impression",
        f"s{ad % 7}",
        client,
        f"{client}-a{ad}",
        f"p{partition}-u{rng.randrange(USERS)}",
        appended_ms - rng.randrange(OLDEST_EVENT_MS),
        1_000 + ad,
    )


def _split(count: int, parts: int) -> list[int]:
    """`count` in `parts` numbers that differ by one at most."""
    return [count // parts + (number < count % parts) for number in range(parts)]
