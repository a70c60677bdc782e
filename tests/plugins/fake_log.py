"""The fake of the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kappa.core.log.kafka_log import Appended, Identity, Offsets
from kappa.core.log.topic import Topic
from kappa.unavailable import Unreachable

TOPIC = Topic("ad_events", "topic-one", (0, 1), "LogAppendTime")


@dataclass
class FakeLog:
    """The Log in memory: per partition, the first offset and the append times (ms) from there on."""

    first: Offsets
    times: Mapping[int, Sequence[int]]
    topic: Topic = TOPIC
    record_bytes: int = 250
    away: bool = False

    def describe(self) -> Topic:
        return self.topic

    def identity(self) -> Identity:
        return Identity(self.topic.topic_id, dict.fromkeys(self.topic.partitions, 0))

    def earliest(self) -> Offsets:
        return dict(self.first)

    def ends(self) -> Offsets:
        return {p: self.first[p] + len(self.times[p]) for p in self.first}

    def offsets_at(self, append_ms: int) -> Offsets:
        return {p: self.first[p] + sum(t < append_ms for t in self.times[p]) for p in self.first}

    def append_time(self, partition: int, offset: int) -> int | None:
        index = offset - self.first[partition]
        return self.times[partition][index] if index < len(self.times[partition]) else None

    def unsettled(self) -> frozenset[int]:
        return frozenset()

    def appended(self, partition: int, offset: int) -> Appended | None:
        at_ms = self.append_time(partition, offset)
        return None if at_ms is None else Appended(at_ms, self.record_bytes, offset)

    @contextmanager
    def opened(self) -> Iterator[FakeLog]:
        if self.away:
            raise Unreachable("Kafka", "nowhere", "it is away")
        yield self
