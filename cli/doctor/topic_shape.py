"""Tries Kafka: that the topic is there and has the shape that the contract asks for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kafka.errors import KafkaError

from cli.doctor.trial import Trial, Wrong
from kappa.core.kafka_log import KafkaLog, Topic, check_kept_whole, check_stamping
from kappa.core.settings import Settings
from kappa.unavailable import Unreachable

PART = "Kafka"
HOUR_MS = 3_600_000


def trials(settings: Settings) -> Iterator[Trial]:
    """The topic, and that its records can be read."""
    yield Trial(PART, f"topic {settings.topic.name}", partial(_topic, settings))


def _topic(settings: Settings) -> str:
    try:
        with KafkaLog(settings.kafka, settings.topic.name) as log:
            topic, ends = log.describe(), log.ends()
    except KafkaError as error:
        raise Unreachable(PART, settings.kafka, error) from error
    check_stamping(topic)
    check_kept_whole(topic)
    _check_partitions(settings, topic)
    _check_retention(settings, topic)
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
