"""A record that the broker did not stamp, while a driver runs: a dead letter, and nothing counts as complete by it."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from kappa.core.installation.kafka_access import KafkaUser
from tests.rigs.case import Case
from tests.rigs.events import event, events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
AHEAD_SECONDS = 1_800


def stamped_by_producers(case: Case) -> None:
    """Let the topic keep the producers' times from now on."""
    resource = ConfigResource(
        ConfigResourceType.TOPIC, case.settings.topic.name, {"message.timestamp.type": "CreateTime"}
    )
    admin = KafkaAdminClient(**case.settings.kafka_access(KafkaUser.ADMIN).kafka_python())
    admin.alter_configs([resource])
    admin.close()


def test_a_time_of_a_producer_decides_nothing(rig: Rig) -> None:
    case = rig.case()
    case.produce(events(20))
    with case.driver() as program:
        program.await_read()
        stamped_by_producers(case)
        sent = event(100, partition=1)
        producer = Producer(
            {
                **case.settings.kafka_access(KafkaUser.PRODUCER).librdkafka(),
            }
        )
        at_ms = round((time.time() + AHEAD_SECONDS) * 1000)
        producer.produce(case.settings.topic.name, sent.value, sent.key, partition=1, timestamp=at_ms)
        assert producer.flush(60) == 0
        program.await_read()
    assert (case.accounts()["counted"], case.accounts()["dead_letter"]) == (20, 1)
    found = case.query(
        "select max(greatest(read_append_time, drained_at)) <= clock_timestamp() as past from ops.progress"
    )
    assert found[0]["past"] is True
