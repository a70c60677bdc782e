"""What cannot be replayed exactly, or at all, is refused before anything is staged; the last test cuts the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from jobs.log import KafkaLog
from tests.integration.replays.edge import Edge
from tests.integration.replays.serving import BOTH, replays, segments
from tests.running_stack import Stack

pytestmark = [pytest.mark.integration, pytest.mark.long]  # with its stack 10 minutes and more on two cores


def test_more_cores_than_are_free_are_refused(brisk: Stack) -> None:
    _is_refused(brisk, "would take 128 cores of the worker", "--cores", "64")


def test_a_log_that_will_be_too_short_is_refused(brisk: Stack) -> None:
    with _retention(brisk, minutes=1):
        _is_refused(brisk, "the log keeps 1 min 00 s", "--from", "earliest")


def test_a_log_that_is_too_short_is_refused(brisk: Stack, edge: Edge) -> None:
    """Nothing that reads the whole log can follow this test."""
    with KafkaLog(brisk.settings.kafka, brisk.settings.topic.name) as log:
        ends = log.offsets_at(edge.at_ms)
    gone = [TopicPartition(brisk.settings.topic.name, partition, offset) for partition, offset in ends.items()]
    admin = _admin(brisk)
    for future in admin.delete_records(gone).values():
        future.result(30)
    _is_refused(brisk, "needs the log from", "--from", edge.text)


def _is_refused(stack: Stack, why: str, *options: str) -> None:
    before = replays(stack), segments(stack)
    refused = stack.kappa("reprocess", *BOTH, "--reason", "test", *options, expect=1)
    assert why in " ".join(refused.err.split())
    assert (replays(stack), segments(stack)) == before


@contextmanager
def _retention(stack: Stack, minutes: int) -> Iterator[None]:
    """The topic keeps its records for so long, and not long enough for the broker to look what it may drop."""
    _keep(stack, minutes)
    try:
        yield
    finally:
        _keep(stack, stack.settings.topic.retention_hours * 60)


def _keep(stack: Stack, minutes: int) -> None:
    entry = ConfigEntry("retention.ms", str(minutes * 60_000), incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ResourceType.TOPIC, stack.settings.topic.name, incremental_configs=[entry])
    admin = _admin(stack)
    for future in admin.incremental_alter_configs([topic]).values():
        future.result(30)


def _admin(stack: Stack) -> AdminClient:
    """To be held until its futures are done: they end with it."""
    return AdminClient({"bootstrap.servers": stack.settings.kafka})
