"""The port to the log: what the topic is, how far it reaches and when a record was appended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import KafkaTimeoutError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError, for_code

from kappa.core.installation.kafka_access import KafkaAccess
from kappa.core.installation.kafka_client import connected
from kappa.core.log.topic import MissingTopic, Topic, TopicHidden, described, id_of

Offsets = dict[int, int]
"""Partition -> offset."""

REQUEST_TIMEOUT_MS = 5_000
"""For the answer of one broker, before another one is asked: the host of one that is gone says nothing."""
LONGEST_MS = 15_000
"""For the first answer of any, and for a record: kafka-python would wait for the former for twice as long."""
LEADERS_AGE_MS = 3_000
"""After so long a client asks anew who leads each partition, while it goes on; by default after five minutes, and in
them a broker whose host is lost is asked for what another one has by then (docs/decisions/0065)."""
IDLE_MS = 6_000
"""After so long without an answer a connection is closed, so that a broker whose host is lost is not asked by it."""


@dataclass(frozen=True)
class Identity:
    """Which topic bears the name now, and per partition its leader epoch: nothing is cut off a log within an epoch."""

    topic_id: str
    epochs: Mapping[int, int]


@dataclass(frozen=True, order=True)
class LastRead:
    """The last record that was read of a partition: its offset, and its append_time in epoch ms."""

    offset: int
    append_ms: int


@dataclass(frozen=True)
class Appended:
    """A record as it lies in the log: its append_time in epoch ms, the bytes of its key and value, and its offset."""

    at_ms: int
    bytes: int
    offset: int


class Log(Protocol):
    """Reading access to one topic; offsets are per partition, times are append_time in epoch ms."""

    def describe(self) -> Topic:
        """The topic as it is now. Raises MissingTopic."""

    def identity(self) -> Identity:
        """Which topic it is now, in a few ms. Raises MissingTopic."""

    def earliest(self) -> Offsets:
        """The first offset that is still there."""

    def ends(self) -> Offsets:
        """One past the last offset."""

    def offsets_at(self, append_ms: int) -> Offsets:
        """The first offset whose append_time is at least `append_ms`; the end where there is none."""

    def unsettled(self) -> frozenset[int]:
        """The partitions that hold, or may hold, records behind their end now, which is to be asked for afterwards: a
        later end will tell them, and they were appended before. Raises MissingTopic."""

    def append_time(self, partition: int, offset: int) -> int | None:
        """The append_time of the first record at or after `offset`; None at its end, and only there."""

    def appended(self, partition: int, offset: int) -> Appended | None:
        """The first record at or after `offset`; None at its end, and only there."""


class KafkaLog:
    """The Log of a Kafka topic, by kafka-python; made per use and closed, or used as a context manager."""

    def __init__(self, access: KafkaAccess, topic: str) -> None:
        """Raises UserUnknown, KafkaError."""
        self._access, self._topic = access, topic
        self._opened: KafkaAdminClient | None = None
        self._consumer: KafkaConsumer = connected(
            access,
            KafkaConsumer,
            enable_auto_commit=False,
            auto_offset_reset="earliest",  # where retention was quicker; by default it would be the newest record
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            bootstrap_timeout_ms=LONGEST_MS,
            metadata_max_age_ms=LEADERS_AGE_MS,
            connections_max_idle_ms=IDLE_MS,
            fetch_max_wait_ms=100,
            max_poll_records=1,
            max_partition_fetch_bytes=1_200_000,
        )

    def __enter__(self) -> KafkaLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()
        if self._opened is not None:
            self._opened.close()

    @property
    def _admin(self) -> KafkaAdminClient:
        """The connection for questions about the topic; made for the first of them."""
        if self._opened is None:
            self._opened = connected(
                self._access,
                KafkaAdminClient,
                request_timeout_ms=REQUEST_TIMEOUT_MS,
                bootstrap_timeout_ms=LONGEST_MS,
                connections_max_idle_ms=IDLE_MS,
            )
        return self._opened

    def describe(self) -> Topic:
        """The topic as it is now. Raises MissingTopic."""
        return described(self._topic, self._metadata(), self._configured())

    def identity(self) -> Identity:
        """Which topic it is now, in a few ms: one question on a connection that stays. Raises MissingTopic."""
        found = self._metadata()
        epochs = {int(p["partition_index"]): int(p["leader_epoch"]) for p in found["partitions"]}
        return Identity(id_of(found), epochs)

    def _metadata(self) -> Mapping[str, Any]:
        """What the broker says of the topic and its partitions. Raises MissingTopic, TopicHidden, KafkaError."""
        found: Mapping[str, Any] = self._admin.describe_topics([self._topic])[0]
        code = found.get("error_code")
        if code == UnknownTopicOrPartitionError.errno:
            raise MissingTopic(self._topic, self._access.address)
        if code == TopicAuthorizationFailedError.errno:
            raise TopicHidden(self._access, self._topic)
        if code:
            raise for_code(code)
        return found

    def _configured(self) -> Mapping[str, Any]:
        """The topic's settings, defaults included."""
        resource = ConfigResource(ConfigResourceType.TOPIC, self._topic)
        held: Mapping[str, Any] = self._admin.describe_configs([resource], config_filter="all")["topic"][self._topic]
        if not held:  # this has a right of its own, and kafka-python does not say that it is missing
            raise TopicHidden(self._access, self._topic)
        return held

    def earliest(self) -> Offsets:
        """The first offset that is still there."""
        return _by_partition(self._consumer.beginning_offsets(self._partitions()))

    def ends(self) -> Offsets:
        """One past the last offset."""
        return _by_partition(self._consumer.end_offsets(self._partitions()))

    def offsets_at(self, append_ms: int) -> Offsets:
        """The first offset whose append_time is at least `append_ms`; the end where there is none.

        The ends are asked for first: a record that comes between the two questions is after them, not before.
        """
        ends = self.ends()
        # No record is older than the epoch, and the client refuses to look for one.
        found = self._consumer.offsets_for_times(dict.fromkeys(self._partitions(), max(0, append_ms)))
        return {tp.partition: hit.offset if hit else ends[tp.partition] for tp, hit in found.items()}

    def unsettled(self) -> frozenset[int]:
        """The partitions whose newest record is not told: Kafka names no record that too few replicas have, and says
        of the newest one nothing then. Nor does it of a partition without records, of which the replicas in sync tell
        whether a record could be there."""
        partitions = self._partitions()
        try:
            newest = self._admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.MAX_TIMESTAMP))
        except UnknownTopicOrPartitionError as gone:
            raise MissingTopic(self._topic, self._access.address) from gone
        untold = {tp.partition for tp, found in newest.items() if found.offset < 0}
        if not untold:
            return frozenset()
        first, ends = self.earliest(), self.ends()
        without = {p for p in untold if first[p] == ends[p]}
        return frozenset(untold - without) | (self._short_of_replicas() & without if without else frozenset())

    def _short_of_replicas(self) -> frozenset[int]:
        partitions = self._metadata()["partitions"]
        if all(len(p["isr_nodes"]) == len(p["replica_nodes"]) for p in partitions):
            return frozenset()  # whatever the topic asks for, and so without asking for that
        return short(partitions, int(self._configured()["min.insync.replicas"]["value"]))

    def append_time(self, partition: int, offset: int) -> int | None:
        """The append_time of the first record at or after `offset`; None at the end of the partition."""
        record = self.appended(partition, offset)
        return record.at_ms if record else None

    def appended(self, partition: int, offset: int) -> Appended | None:
        """The first record at or after `offset`; None at the end of the partition. Raises KafkaTimeoutError where the
        broker has one, and does not send it."""
        tp = TopicPartition(self._topic, partition)
        end = self._consumer.end_offsets([tp])[tp]
        if offset >= end:
            return None
        self._consumer.assign([tp])
        self._consumer.seek(tp, offset)
        for records in self._consumer.poll(timeout_ms=LONGEST_MS, max_records=1).values():
            first = records[0]
            return Appended(int(first.timestamp), len(first.key or b"") + len(first.value or b""), int(first.offset))
        # A transaction's marker is passed over without a record; a producer that leaves one is told of elsewhere.
        if (self._consumer.position(tp, timeout_ms=LONGEST_MS) or 0) < end:
            of = f"partition {partition} of '{self._topic}', which ends at {end}"
            raise KafkaTimeoutError(f"no answer within {LONGEST_MS // 1000} s for offset {offset} of {of}")
        return None

    def _partitions(self) -> list[TopicPartition]:
        numbers = self._consumer.partitions_for_topic(self._topic)
        if not numbers:
            raise MissingTopic(self._topic, self._access.address)
        return [TopicPartition(self._topic, n) for n in sorted(numbers)]


def short(partitions: Iterable[Mapping[str, Any]], least: int) -> frozenset[int]:
    """The partitions, as the broker describes them, with fewer replicas in sync than `min.insync.replicas`, of which a
    partition with fewer replicas needs no more than it has."""
    return frozenset(
        int(p["partition_index"]) for p in partitions if len(p["isr_nodes"]) < min(least, len(p["replica_nodes"]))
    )


def _by_partition(offsets: Mapping[TopicPartition, int]) -> Offsets:
    return {tp.partition: offset for tp, offset in offsets.items()}
