"""The port to the log as the oracle reads it, and Kafka behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from kappa.core.refusals import Refusal
from oracle.decode import LogRecord

_TIMEOUT_S = 10.0
_POLL_S = 0.2
_MOST_SILENT_POLLS = 300
_FETCH = 10_000


class LogUnreadable(Refusal):
    """The broker does not answer, has no such topic, or stops in the middle."""

    def __init__(self, address: str, topic: str, problem: object) -> None:
        super().__init__(f"topic '{topic}' at {address} cannot be read: {problem}. `./kappa status` says what runs.")


class Topic(Protocol):
    """The log."""

    def bounds(self) -> dict[int, tuple[int, int]]:
        """partition -> (first offset, offset after the last), now."""

    def records(self, ends: Mapping[int, int]) -> Iterator[LogRecord]:
        """Each partition's records from its first offset to before its end; in order within a partition."""


class KafkaTopic:
    """A topic, read by partition without a consumer group; nothing is committed."""

    def __init__(self, access: Mapping[str, str], topic: str, more: dict[str, Any] | None = None) -> None:
        """`access` says where Kafka is and who reads, in librdkafka's names; `more` are settings over the ones here."""
        self._address, self._topic = access["bootstrap.servers"], topic
        self._settings = {
            **access,
            "group.id": "kappa-reconcile",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "queued.max.messages.kbytes": 65_536,
            "log_level": 2,
            **(more or {}),
        }

    def bounds(self) -> dict[int, tuple[int, int]]:
        """partition -> (first offset, offset after the last), now. Raises LogUnreadable."""
        with self._opened() as consumer:
            return {p: self._watermarks(consumer, p) for p in self._partitions(consumer)}

    def records(self, ends: Mapping[int, int]) -> Iterator[LogRecord]:
        """Each partition's records from its first offset to before its end. Raises LogUnreadable."""
        firsts = {partition: first for partition, (first, _) in self.bounds().items()}
        return self._read({partition: firsts.get(partition, end) for partition, end in ends.items()}, ends, None)

    def since(self, append_ms: int) -> dict[int, int]:
        """partition -> offset of the first record with that append_time or a later one; its end where there is none.

        Raises LogUnreadable.
        """
        ends = {partition: end for partition, (_, end) in self.bounds().items()}
        with self._opened() as consumer:
            asked = [TopicPartition(self._topic, partition, append_ms) for partition in ends]
            found = consumer.offsets_for_times(asked, timeout=_TIMEOUT_S)
            for hit in found:
                if hit.error is not None:
                    raise KafkaException(hit.error)
            return {hit.partition: hit.offset if hit.offset >= 0 else ends[hit.partition] for hit in found}

    def stretch(self, starts: Mapping[int, int], ends: Mapping[int, int], until_ms: int) -> Iterator[LogRecord]:
        """Each partition's records from its start to before its end, or to before the first one that the broker
        stamped `until_ms` or later. Raises LogUnreadable."""
        return self._read(starts, ends, until_ms)

    def _read(self, starts: Mapping[int, int], ends: Mapping[int, int], until_ms: int | None) -> Iterator[LogRecord]:
        left = {partition for partition, end in ends.items() if starts[partition] < end}
        with self._opened() as consumer:
            consumer.assign([TopicPartition(self._topic, partition, starts[partition]) for partition in left])
            silent = 0
            while left:
                messages = consumer.consume(_FETCH, _POLL_S)
                silent = 0 if messages else silent + 1
                self._require_life(silent)
                before = set(left)
                yield from self._fetched(messages, ends, until_ms, left)
                consumer.pause([TopicPartition(self._topic, partition) for partition in before - left])

    @contextmanager
    def _opened(self) -> Iterator[Consumer]:
        """A consumer for the length of a `with`. A broker that refuses to let it in is told apart from one that is not
        there, which librdkafka says aside only. Raises LogUnreadable."""
        refused: list[KafkaError] = []

        def note(error: KafkaError) -> None:
            if error.code() == KafkaError._AUTHENTICATION:
                refused.append(error)

        consumer = Consumer({**self._settings, "error_cb": note})
        try:
            yield consumer
        except KafkaException as error:
            consumer.poll(0)
            problem = refused[0].str() if refused else error.args[0]
            raise LogUnreadable(self._address, self._topic, problem) from error
        finally:
            consumer.close()

    def _require_life(self, silent: int) -> None:
        if silent > _MOST_SILENT_POLLS:
            seconds = _MOST_SILENT_POLLS * _POLL_S
            raise LogUnreadable(self._address, self._topic, f"nothing came for {seconds:.0f} s")

    def _fetched(
        self, messages: list[Message], ends: Mapping[int, int], until_ms: int | None, left: set[int]
    ) -> Iterator[LogRecord]:
        """The wanted records among these messages; takes the partitions that are done out of `left`."""
        for message in messages:
            partition, offset, error = message.partition(), message.offset(), message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise LogUnreadable(self._address, self._topic, error)
            if partition not in left:
                continue
            if error is None and offset < ends[partition]:
                record = _record(message, partition, offset)
                if until_ms is not None and record.stamped and record.append_time >= until_ms:
                    left.discard(partition)
                    continue
                yield record
            if offset + 1 >= ends[partition]:
                left.discard(partition)

    def _partitions(self, consumer: Consumer) -> list[int]:
        found = consumer.list_topics(self._topic, timeout=_TIMEOUT_S).topics[self._topic]
        if found.error is not None:
            raise KafkaException(found.error)
        return sorted(found.partitions)

    def _watermarks(self, consumer: Consumer, partition: int) -> tuple[int, int]:
        low, high = consumer.get_watermark_offsets(TopicPartition(self._topic, partition), timeout=_TIMEOUT_S)
        return low, high


def _record(message: Message, partition: int, offset: int) -> LogRecord:
    kind, at = message.timestamp()
    return LogRecord(partition, offset, at, kind == TIMESTAMP_LOG_APPEND_TIME, message.key(), message.value())
