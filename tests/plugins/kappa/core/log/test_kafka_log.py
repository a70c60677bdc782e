"""What KafkaLog makes of answers and of silence, where there is no broker."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from kafka.errors import KafkaError, KafkaTimeoutError

from kappa.core.installation.addresses import Kafka
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.log.kafka_log import KafkaLog, short
from stack.waiting import until


def test_a_broker_that_is_away_leaves_no_client_that_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kappa.core.log.kafka_log.LONGEST_MS", 500)
    before = threading.active_count()
    with pytest.raises(KafkaError):
        KafkaLog(KafkaAccess(Kafka("127.0.0.1:1", "PLAINTEXT"), KafkaUser.CONTROL, Path("none")), "nowhere")
    assert until(lambda: threading.active_count() <= before, 30)


@pytest.fixture
def poll_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """The consumer of a KafkaLog of five records, of which no poll brings one."""
    consumer = Mock(end_offsets=lambda asked: dict.fromkeys(asked, 5), poll=lambda **_: {})
    monkeypatch.setattr("kappa.core.log.kafka_log.connected", lambda *_, **__: consumer)
    return consumer


@pytest.mark.parametrize("position", [2, None])
def test_a_record_that_is_there_and_does_not_come_is_not_the_end(
    poll_finds_nothing: Mock, position: int | None
) -> None:
    """Taken for it, a log that was cut would begin now, and a version would start in the future."""
    poll_finds_nothing.position.return_value = position
    with pytest.raises(KafkaTimeoutError, match="within 15 s for offset 2 of partition 0 of 't', which ends at 5"):
        KafkaLog(KafkaAccess(Kafka("nowhere:1", "PLAINTEXT"), KafkaUser.CONTROL, Path("none")), "t").append_time(0, 2)


def test_where_nothing_but_markers_is_left_it_is_the_end(poll_finds_nothing: Mock) -> None:
    """The client passes over a transaction's marker, and hands out no record for it."""
    poll_finds_nothing.position.return_value = 5
    log = KafkaLog(KafkaAccess(Kafka("nowhere:1", "PLAINTEXT"), KafkaUser.CONTROL, Path("none")), "t")
    assert log.append_time(0, 4) is None


@pytest.mark.parametrize(
    ("replicas", "in_sync", "least", "is_short"), [(3, 1, 2, True), (3, 2, 2, False), (1, 1, 2, False), (3, 0, 1, True)]
)
def test_a_partition_is_short_of_replicas_where_a_record_could_be_behind_its_end(
    replicas: int, in_sync: int, least: int, is_short: bool
) -> None:
    described = {"partition_index": 5, "replica_nodes": list(range(replicas)), "isr_nodes": list(range(in_sync))}
    assert short([described], least) == ({5} if is_short else set())
