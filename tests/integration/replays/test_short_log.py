"""What cannot be replayed exactly, or at all, is refused before anything is staged."""

from __future__ import annotations

import pytest

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.log.kafka_log import KafkaLog
from tests.integration.replays.edge import Edge
from tests.integration.replays.serving import BOTH, replays, segments
from tests.rigs.meddling import delete_before, retention
from tests.rigs.running_stack import Stack

pytestmark = pytest.mark.integration


@pytest.mark.long(minutes=1)
def test_more_cores_than_are_free_are_refused(grown: Stack) -> None:
    _is_refused(grown, "cores of the cluster", "--cores", "64")


@pytest.mark.long(minutes=1)
def test_a_log_that_will_be_too_short_is_refused(grown: Stack) -> None:
    kept_ms = grown.settings.topic.retention_hours * 3_600_000
    with retention(grown.settings, retention_ms=60_000, before_ms=kept_ms):
        _is_refused(grown, "the log keeps 1 min 00 s", "--from", "earliest")


@pytest.mark.last
def test_a_log_that_is_too_short_is_refused(grown: Stack, edge: Edge) -> None:
    """Nothing that reads the whole log can follow this test."""
    with KafkaLog(grown.settings.kafka_access(KafkaUser.CONTROL), grown.settings.topic.name) as log:
        ends = log.offsets_at(edge.at_ms)
    delete_before(grown.settings, ends)
    _is_refused(grown, "needs the log from", "--from", edge.text)


def _is_refused(stack: Stack, why: str, *options: str) -> None:
    before = replays(stack), segments(stack)
    refused = stack.kappa("reprocess", *BOTH, "--reason", "test", *options, expect=1)
    assert why in " ".join(refused.err.split())
    assert (replays(stack), segments(stack)) == before
