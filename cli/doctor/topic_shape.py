"""Tries Kafka with each user: that he is let in and has his rights, and that the topic has the contract's shape."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from cli.doctor.trial import Trial, Wrong
from kappa.core.installation.addresses import is_loopback
from kappa.core.installation.kafka_access import RIGHTS, USERNAME, KafkaAccess, KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log.topic import Topic, check_kept_whole, check_stamping
from kappa.platform import connect
from kappa.unavailable import Unreachable

PART = "Kafka"
ANSWER_SECONDS = 10.0
CHANGES = {"WRITE", "DELETE", "ALTER", "ALTER_CONFIGS"}
"""What changes the log: nobody may who has no need to."""
HOUR_MS = 3_600_000
COPIES, IN_SYNC = 3, 2
"""So many brokers have each record, and so many of them before it is acknowledged: one is lost without a pause."""


def trials(settings: Settings) -> Iterator[Trial]:
    """Each user, then the topic. Where the broker does not ask who is there, there are no users."""
    if settings.kafka_server.asks_who:
        for user in RIGHTS:
            access = settings.kafka_access(user)
            yield Trial(PART, f"user {user}", partial(_user, access, settings.topic.name), access.file.name)
    control = settings.kafka_access(KafkaUser.CONTROL).file.name
    yield Trial(PART, f"topic {settings.topic.name}", partial(_topic, settings), control)


def _user(access: KafkaAccess, topic: str) -> str:
    """Let in, and with the rights on the topic, which the broker tells of whoever asks."""
    allowed = _allowed(access, topic)
    if missing := [right for right in RIGHTS[access.user] if right not in allowed]:
        name = access.librdkafka()[USERNAME]
        options = " ".join(f"--operation {right.title().replace('_', '')}" for right in missing)
        raise Wrong(
            f"{name} may not {', '.join(missing)} topic {topic}",
            f"kafka-acls --add --allow-principal User:{name} {options} --topic {topic}",
        )
    if more := allowed & CHANGES - set(RIGHTS[access.user]):
        raise Wrong(
            f"{access.user} may {', '.join(sorted(more))} topic {topic}, which it has no need of",
            "Take the right away: its password is on several hosts.",
        )
    return f"let in, may {', '.join(RIGHTS[access.user])}"


def _allowed(access: KafkaAccess, topic: str) -> set[str]:
    """The operations that the user may do on a topic. Raises Unreachable, Wrong, UserUnknown."""
    refused: list[str] = []

    def note(error: Any) -> None:
        refused.append(error.str())

    client = AdminClient({**access.librdkafka(), "error_cb": note, "log_level": 0})
    asked = client.describe_topics(
        TopicCollection([topic]), include_authorized_operations=True, request_timeout=ANSWER_SECONDS
    )
    try:
        (told,) = (future.result() for future in asked.values())
    except KafkaException as error:
        client.poll(0)
        raise Unreachable(PART, access.address, refused[0] if refused else error.args[0].str()) from error
    return {operation.name for operation in told.authorized_operations or ()}


def _topic(settings: Settings) -> str:
    with connect(settings).open_log() as log:
        topic, ends = log.describe(), log.ends()
    check_stamping(topic)
    check_kept_whole(topic)
    _check_partitions(settings, topic)
    _check_retention(settings, topic)
    _check_copies(settings, topic)
    return f"{len(topic.partitions)} partitions, LogAppendTime, {sum(ends.values()):,} records so far"


def _check_partitions(settings: Settings, topic: Topic) -> None:
    found, wanted = len(topic.partitions), settings.topic.partitions
    if found != wanted:
        raise Wrong(
            f"it has {found} partitions, and the settings say {wanted}",
            f"Set topic.partitions = {found}: the number is fixed for the topic's life.",
        )


def _check_retention(settings: Settings, topic: Topic) -> None:
    wanted = settings.topic.retention_hours
    if topic.retention_ms is not None and topic.retention_ms < wanted * HOUR_MS:
        raise Wrong(
            f"it keeps records for {topic.retention_ms // HOUR_MS} h, and the settings say {wanted} h",
            f"kafka-configs --alter --topic {topic.name} --add-config retention.ms={wanted * HOUR_MS}, or "
            f"topic.retention_hours = {topic.retention_ms // HOUR_MS}: a replay reaches no further back.",
        )


def _check_copies(settings: Settings, topic: Topic) -> None:
    """Nothing is asked of a single broker on this machine, which holds the only copy there can be."""
    if topic.brokers == 1 and all(map(is_loopback, settings.kafka_server.hosts)):
        return
    if topic.copies < COPIES:
        raise Wrong(
            f"of its records there are {topic.copies} copies (replication factor), and with fewer than {COPIES} a lost "
            "broker stops the jobs, or takes records with it",
            f"Put each partition on {COPIES} brokers by kafka-reassign-partitions, and let {IN_SYNC} acknowledge: "
            f"kafka-configs --alter --topic {topic.name} --add-config min.insync.replicas={IN_SYNC}",
        )
    if topic.least_in_sync < IN_SYNC:
        raise Wrong(
            f"its min.insync.replicas is {topic.least_in_sync}: a record may be acknowledged that a single broker has, "
            "and is lost with that broker",
            f"kafka-configs --alter --topic {topic.name} --add-config min.insync.replicas={IN_SYNC}",
        )
