"""The port to the log that traffic is sent to, and Kafka behind it.

Delivery: at least once within a run's retries, and by the idempotent producer once and in order per
partition; what could not be delivered is counted and named, never silently lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer

from kappa.core.refusals import Refusal

QUEUE_RECORDS = 500_000
_SERVE_EVERY = 1_000
_WAIT_S = 0.05
_TIMEOUT_S = 10.0


class LogUnreachable(Refusal):
    """The broker does not answer."""

    def __init__(self, address: str, error: object) -> None:
        super().__init__(f"no broker answers at {address} ({error}). Nothing was sent. Start it with `./kappa up`.")


class LogRefused(Refusal):
    """The broker does not let this user in, or not to this topic."""

    def __init__(self, address: str, said: object) -> None:
        super().__init__(
            f"the broker at {address} refused: {said}. Nothing was sent. The file kafka_producer.properties in the "
            "secrets folder must name a user that may write the topic; './kappa up' sees to it in the embedded stack."
        )


class TopicMissing(Refusal):
    """The topic does not exist."""

    def __init__(self, address: str, topic: str) -> None:
        super().__init__(f"the broker at {address} has no topic '{topic}'. Nothing was sent. `./kappa up` makes it.")


@dataclass(frozen=True)
class Delivery:
    """What became of the records handed over: how many the log holds, how many not, and why the first of
    these failed."""

    delivered: int
    failed: int
    first_error: str | None = None


class Log(Protocol):
    """Where records go."""

    def send(self, key: bytes | None, value: bytes | None) -> None:
        """Hand over one record; returns without waiting for the log, unless a long queue is full."""

    def close(self) -> Delivery:
        """Wait until every record is delivered or has failed."""


class KafkaLog:
    """A topic, by confluent-kafka (docs/decisions/0002): keys by murmur2 as Kafka's own clients,
    idempotent, lz4, acks=all."""

    def __init__(self, access: Mapping[str, str], topic: str, more: dict[str, Any] | None = None) -> None:
        """`access` says where Kafka is and who writes, in librdkafka's names; `more` are settings over the ones here.
        Raises LogUnreachable, LogRefused, TopicMissing."""
        self._topic = topic
        self._sent = 0
        self._failed = 0
        self._first_error: object = None
        self._fatal: object = None
        self._refused: KafkaError | None = None
        told = {"on_delivery": self._report, "error_cb": self._note}
        self._producer = Producer({**access, **_SETTINGS, **told, **(more or {})})
        self._require_topic(access["bootstrap.servers"])

    def send(self, key: bytes | None, value: bytes | None) -> None:
        """Hand over one record; waits only while the queue of QUEUE_RECORDS is full."""
        while True:
            try:
                self._producer.produce(self._topic, value, key)
                break
            except BufferError:
                self._serve(_WAIT_S)
            except KafkaException as error:
                self._fail(error.args[0])
                break
        self._sent += 1
        if self._sent % _SERVE_EVERY == 0:
            self._serve(0)

    def close(self) -> Delivery:
        """Wait for the queue to drain, at most as long as the producer retries.

        By `poll`, which ends where a callback raised: `flush` goes on to the next one with that exception under
        way, which may lose it, and the words that say why the producer gave up with it."""
        while len(self._producer):
            self._serve(_WAIT_S)
        first = str(self._fatal or self._first_error or "") or None
        return Delivery(self._sent - self._failed, self._failed, first)

    def _serve(self, seconds: float) -> None:
        """Have the callbacks called, and wait so long for one. What is fatal to the producer, as a user without the
        right to write, is raised out of this once; each record's failure is then told by the next call."""
        try:
            self._producer.poll(seconds)
        except KafkaException as error:
            self._fatal = self._fatal or error

    def _report(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            self._fail(error)

    def _note(self, error: KafkaError) -> None:
        """What librdkafka tells of its connections."""
        if error.code() == KafkaError._AUTHENTICATION:
            self._refused = error

    def _fail(self, error: object) -> None:
        self._failed += 1
        self._first_error = self._first_error or error

    def _require_topic(self, address: str) -> None:
        try:
            found = self._producer.list_topics(self._topic, timeout=_TIMEOUT_S).topics.get(self._topic)
        except KafkaException as error:
            self._serve(0)
            if self._refused is not None:
                raise LogRefused(address, self._refused.str()) from error
            raise LogUnreachable(address, error.args[0]) from error
        if (
            found is not None
            and found.error is not None
            and found.error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        ):
            raise LogRefused(address, found.error.str())
        if found is None or found.error is not None:
            raise TopicMissing(address, self._topic)


_SETTINGS: dict[str, Any] = {
    "client.id": "kappa-produce",
    "partitioner": "murmur2_random",
    "enable.idempotence": True,
    "acks": "all",
    "compression.type": "lz4",
    "linger.ms": 5,
    "batch.num.messages": 10_000,
    "queue.buffering.max.messages": QUEUE_RECORDS,
    "queue.buffering.max.kbytes": 1_048_576,
    "delivery.report.only.error": True,
    "delivery.timeout.ms": 120_000,
    "log_level": 2,
}
