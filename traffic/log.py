"""The port to the log that traffic is sent to, and Kafka behind it.

Delivery: at least once within a run's retries, and by the idempotent producer once and in order per
partition; what could not be delivered is counted and named, never silently lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Producer

from kappa.core.refusals import Refusal

QUEUE_RECORDS = 500_000
_SERVE_EVERY = 1_000
_TIMEOUT_S = 10.0


class LogUnreachable(Refusal):
    """The broker does not answer."""

    def __init__(self, bootstrap: str, error: object) -> None:
        super().__init__(f"no broker answers at {bootstrap} ({error}). Nothing was sent. Start it with `./kappa up`.")


class TopicMissing(Refusal):
    """The topic does not exist."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(f"the broker at {bootstrap} has no topic '{topic}'. Nothing was sent. `./kappa up` makes it.")


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

    def __init__(self, bootstrap: str, topic: str, more: dict[str, Any] | None = None) -> None:
        """Raises LogUnreachable, TopicMissing. `more` are settings of librdkafka over the ones here."""
        self._topic = topic
        self._sent = 0
        self._failed = 0
        self._first_error: str | None = None
        self._producer = Producer({**_settings(bootstrap), "on_delivery": self._report, **(more or {})})
        self._require_topic(bootstrap)

    def send(self, key: bytes | None, value: bytes | None) -> None:
        """Hand over one record; waits only while the queue of QUEUE_RECORDS is full."""
        while True:
            try:
                self._producer.produce(self._topic, value, key)
                break
            except BufferError:
                self._producer.poll(0.05)
            except KafkaException as error:
                self._fail(str(error.args[0]))
                break
        self._sent += 1
        if self._sent % _SERVE_EVERY == 0:
            self._producer.poll(0)

    def close(self) -> Delivery:
        """Wait for the queue to drain, at most as long as the producer retries."""
        self._producer.flush()
        return Delivery(self._sent - self._failed, self._failed, self._first_error)

    def _report(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            self._fail(str(error))

    def _fail(self, error: str) -> None:
        self._failed += 1
        self._first_error = self._first_error or error

    def _require_topic(self, bootstrap: str) -> None:
        try:
            found = self._producer.list_topics(self._topic, timeout=_TIMEOUT_S).topics.get(self._topic)
        except KafkaException as error:
            raise LogUnreachable(bootstrap, error.args[0]) from error
        if found is None or found.error is not None:
            raise TopicMissing(bootstrap, self._topic)


def _settings(bootstrap: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
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
