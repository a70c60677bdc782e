"""Which part of a topic is read, on a consumer that hands out what a broker would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError, TopicPartition

from oracle import topic
from oracle.topic import KafkaTopic, LogUnreadable

END = SimpleNamespace(code=lambda: KafkaError._PARTITION_EOF)


@dataclass(frozen=True)
class FakeMessage:
    at: int
    number: int
    stamped: int = TIMESTAMP_LOG_APPEND_TIME
    problem: Any = None
    of: int = 0

    def partition(self) -> int:
        return self.of

    def offset(self) -> int:
        return self.number

    def error(self) -> Any:
        return self.problem

    def timestamp(self) -> tuple[int, int]:
        return self.stamped, self.at

    def key(self) -> bytes:
        return b"u1"

    def value(self) -> bytes:
        return b"{}"


@dataclass
class FakeConsumer:
    """Hands out two partitions' messages, at most two at a time; `paused` are those that are wanted no more."""

    logs: dict[int, list[FakeMessage]]
    at: dict[int, int] = field(default_factory=dict)
    paused: list[int] = field(default_factory=list)

    def list_topics(self, name: str, timeout: float) -> Any:
        return SimpleNamespace(topics={name: SimpleNamespace(error=None, partitions=dict.fromkeys(self.logs))})

    def get_watermark_offsets(self, asked: TopicPartition, timeout: float) -> tuple[int, int]:
        return 0, len(self.logs[asked.partition])

    def offsets_for_times(self, asked: Sequence[TopicPartition], timeout: float) -> list[TopicPartition]:
        return [TopicPartition("ads", one.partition, self._first(one.partition, one.offset)) for one in asked]

    def _first(self, partition: int, at: int) -> int:
        return next((each.number for each in self.logs[partition] if each.at >= at), -1)

    def assign(self, wanted: Sequence[TopicPartition]) -> None:
        self.at = {one.partition: one.offset for one in wanted}

    def pause(self, done: Sequence[TopicPartition]) -> None:
        self.paused += [one.partition for one in done]

    def consume(self, most: int, seconds: float) -> list[FakeMessage]:
        found = []
        for partition in self.at.keys() - set(self.paused):
            log, at = self.logs[partition], self.at[partition]
            found += log[at : at + 2] or [FakeMessage(0, len(log), problem=END, of=partition)]
            self.at[partition] = at + 2
        return found

    def poll(self, timeout: float) -> None:
        pass

    def close(self) -> None:
        pass


BROKER = {"bootstrap.servers": "broker"}


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> FakeConsumer:
    """Seven records of partition 0, a second apart; none in partition 1."""
    made = FakeConsumer({0: [FakeMessage(n * 1_000, n) for n in range(7)], 1: []})
    monkeypatch.setattr(topic, "Consumer", lambda settings: made)
    return made


def _stretch(starts: dict[int, int], ends: dict[int, int], until_ms: int) -> list[int]:
    return [record.offset for record in KafkaTopic(BROKER, "ads").stretch(starts, ends, until_ms)]


@pytest.mark.parametrize(
    ("start", "end", "until_ms", "offsets"),
    [
        (2, 5, 9_000, [2, 3, 4]),
        (0, 7, 3_000, [0, 1, 2]),
        (0, 7, 9_000, list(range(7))),
        (4, 4, 9_000, []),
        (3, 7, 0, []),
    ],
)
def test_a_stretch_ends_where_it_must(
    consumer: FakeConsumer, start: int, end: int, until_ms: int, offsets: list[int]
) -> None:
    assert _stretch({0: start}, {0: end}, until_ms) == offsets


def test_a_partition_that_is_done_is_read_no_further(consumer: FakeConsumer) -> None:
    _stretch({0: 0, 1: 0}, {0: 7, 1: 0}, 1_000)
    assert (consumer.paused, consumer.at) == ([0], {0: 2})


def test_a_time_that_a_producer_stamped_ends_no_stretch(consumer: FakeConsumer) -> None:
    """Else one such record could hide all that come after it."""
    consumer.logs[0][1] = FakeMessage(10**13, 1, TIMESTAMP_CREATE_TIME)
    assert _stretch({0: 0}, {0: 7}, 3_000) == [0, 1, 2]


def test_nothing_comes_after_the_end_of_a_stretch(consumer: FakeConsumer) -> None:
    """What the broker handed out together with the record that ended it, and with an older time."""
    consumer.logs[0][3] = FakeMessage(1_000, 3)
    assert _stretch({0: 0}, {0: 7}, 2_000) == [0, 1]


@pytest.mark.usefixtures("consumer")
def test_all_records_are_read_from_the_first_to_before_the_end() -> None:
    assert [record.offset for record in KafkaTopic(BROKER, "ads").records({0: 5, 1: 0})] == [0, 1, 2, 3, 4]


@pytest.mark.usefixtures("consumer")
@pytest.mark.parametrize(("at", "offset"), [(0, 0), (2_500, 3), (6_000, 6), (6_001, 7)])
def test_a_time_is_found_by_its_first_record_or_is_the_end(at: int, offset: int) -> None:
    assert KafkaTopic(BROKER, "ads").since(at) == {0: offset, 1: 0}


def test_a_broker_that_cannot_tell_a_time_is_told_of(consumer: FakeConsumer, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = SimpleNamespace(partition=0, offset=-1001, error=KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    monkeypatch.setattr(consumer, "offsets_for_times", lambda asked, timeout: [broken], raising=False)
    with pytest.raises(LogUnreadable, match="kappa status"):
        KafkaTopic(BROKER, "ads").since(0)
