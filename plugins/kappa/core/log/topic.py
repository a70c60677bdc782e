"""What the log's topic is, and what it must be."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka.errors import TopicAuthorizationFailedError

from kappa.core.installation.kafka_access import KafkaAccess
from kappa.core.refusals import Refusal

APPEND_STAMPED = "LogAppendTime"


@dataclass(frozen=True)
class Topic:
    """What the broker says of the topic: its identity, its partitions, who stamps its records, for how long (ms) it
    keeps them (None: none is dropped for its age), how old records go, how many copies there are of a record (of the
    partition with the fewest), how many of them must have it (`min.insync.replicas`), and on how many brokers its
    partitions lie."""

    name: str
    topic_id: str
    partitions: tuple[int, ...]
    timestamp_type: str
    retention_ms: int | None = None
    cleanup_policy: str = "delete"
    copies: int = 1
    least_in_sync: int = 1
    brokers: int = 1


class MissingTopic(Refusal):
    """The topic does not exist."""

    def __init__(self, topic: str, bootstrap: str) -> None:
        super().__init__(
            f"topic '{topic}' does not exist on {bootstrap}. Create it with './kappa up', or correct topic.name."
        )


class TopicHidden(Refusal, TopicAuthorizationFailedError):  # type: ignore[misc]  # noqa: N818
    """The broker does not show the topic to this user: Kafka does not say whether there is one. An error of Kafka,
    too, so that a driver waits for the right to come back."""

    def __init__(self, access: KafkaAccess, topic: str) -> None:
        super().__init__(
            f"Kafka's user {access.user} may not see topic '{topic}' at {access.address}, or how it is set; or there "
            "is none. Correct topic.name, or give the right: './kappa doctor' says how, './kappa up' does it in the "
            "embedded stack."
        )


class WrongTimestampType(Refusal):
    """The topic's records are not stamped by the broker, so any producer could move a record's fate."""

    def __init__(self, topic: str, found: str) -> None:
        super().__init__(
            f"topic '{topic}' has message.timestamp.type={found}, it must be {APPEND_STAMPED}: "
            f"set it on the topic before anything is written to it, or use another topic."
        )


class Compacted(Refusal):
    """The topic is compacted: of records with the same key it keeps the newest only."""

    def __init__(self, topic: str, found: str) -> None:
        super().__init__(
            f"topic '{topic}' has cleanup.policy={found}: compaction removes records before they are read, and leaves "
            "gaps between offsets. Set it to 'delete' on the topic before anything is written to it, or use another "
            "topic."
        )


def described(name: str, found: Mapping[str, Any], held: Mapping[str, Any]) -> Topic:
    """The topic of what kafka-python's admin client tells: `found` of the topic and its partitions, `held` of its
    settings, defaults included."""
    replicas = [set(partition["replica_nodes"]) for partition in found["partitions"]]
    keeps_ms = int(held["retention.ms"]["value"])
    return Topic(
        name,
        id_of(found),
        tuple(sorted(partition["partition_index"] for partition in found["partitions"])),
        str(held["message.timestamp.type"]["value"]),
        keeps_ms if keeps_ms >= 0 else None,
        str(held["cleanup.policy"]["value"]),
        min(map(len, replicas)),
        int(held["min.insync.replicas"]["value"]),
        len(set[int]().union(*replicas)),
    )


def id_of(found: Mapping[str, Any]) -> str:
    """A topic's id in the notation of Kafka's own tools; kafka-python hands out a UUID's text."""
    return base64.urlsafe_b64encode(uuid.UUID(str(found["topic_id"])).bytes).decode().rstrip("=")


def check_stamping(topic: Topic) -> None:
    """Refuse a topic whose records the broker does not stamp (contract, section 1). Raises WrongTimestampType."""
    if topic.timestamp_type != APPEND_STAMPED:
        raise WrongTimestampType(topic.name, topic.timestamp_type)


def check_kept_whole(topic: Topic) -> None:
    """Refuse a topic out of whose middle records vanish: read and moved offsets would never agree. Raises Compacted."""
    if "compact" in topic.cleanup_policy:
        raise Compacted(topic.name, topic.cleanup_policy)
