"""What the log promises, asked of the fake and of Kafka alike."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.structs import OffsetAndTimestamp

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import KafkaLog, Log
from kappa.core.log.topic import MissingTopic, Topic, TopicHidden, WrongTimestampType, check_stamping
from stack.layout import Layout
from stack.services import kafka_users
from stack.waiting import until
from tests.plugins.fakes import FakeLog

HOUR_MS = 3_600_000


@pytest.fixture(params=["fake", pytest.param("kafka", marks=pytest.mark.rig)])
def log(request: pytest.FixtureRequest) -> Iterator[Log]:
    """A log of two partitions: three records in the first, none in the second."""
    if request.param == "fake":
        yield FakeLog({0: 0, 1: 0}, {0: [1_000, 1_000, 2_000], 1: []})
        return
    yield request.getfixturevalue("kafka_log")


@pytest.fixture
def topic(parts: Layout) -> str:
    """The name of a topic of Kafka's like the log's."""
    return _made(parts.settings)


@pytest.fixture
def kafka_log(parts: Layout, topic: str) -> Iterator[KafkaLog]:
    with KafkaLog(parts.settings.kafka_access(KafkaUser.CONTROL), topic) as opened:
        yield opened


@pytest.fixture
def admin(parts: Layout) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(**parts.settings.kafka_access(KafkaUser.ADMIN).kafka_python())) as client:
        yield client


def _made(settings: Settings) -> str:
    name = f"contract-{secrets.token_hex(4)}"
    admin = KafkaAdminClient(**settings.kafka_access(KafkaUser.ADMIN).kafka_python())
    admin.create_topics([NewTopic(name, 2, 1, topic_configs={"message.timestamp.type": "LogAppendTime"})])
    admin.create_acls(list(kafka_users.rights(name)))
    admin.close()
    producer = Producer({**settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), "compression.type": "lz4"})
    for number in range(3):
        assert until(partial(_is_sent, producer, name, number), 30), "the broker does not know the new rights"
    return name


def _is_sent(producer: Producer, name: str, number: int) -> bool:
    """Whether the broker took the record: it learns of rights a moment after it has acknowledged them. An error of
    librdkafka is not compared: beside None it leaves an exception behind (confluent-kafka 2.16.1)."""
    errors: list[object] = []
    try:
        producer.produce(name, str(number).encode(), partition=0, on_delivery=lambda error, _: errors.append(error))
    except KafkaException:
        return False  # librdkafka remembers for a while that the topic was hidden, and tells at once
    assert producer.flush(30) == 0
    return [error is None for error in errors] == [True]


def test_offsets_reach_from_the_first_record_to_one_past_the_last(log: Log) -> None:
    assert log.earliest() == {0: 0, 1: 0}
    assert log.ends() == {0: 3, 1: 0}


def test_a_time_leads_to_the_first_record_appended_at_or_after_it(log: Log) -> None:
    first = log.append_time(0, 0)
    assert first is not None
    assert log.offsets_at(first) == {0: 0, 1: 0}
    assert log.offsets_at(first + HOUR_MS) == log.ends()


def test_a_time_before_the_epoch_leads_to_the_first_record(log: Log) -> None:
    assert log.offsets_at(-HOUR_MS) == log.earliest()


def test_append_times_never_fall_within_a_partition(log: Log) -> None:
    times = [log.append_time(0, offset) for offset in range(3)]
    assert None not in times
    assert times == sorted(times, key=lambda t: t or 0)


def test_there_is_no_append_time_at_the_end(log: Log) -> None:
    assert log.append_time(0, 3) is None
    assert log.append_time(1, 0) is None


def test_a_record_has_an_append_time_and_a_size(log: Log) -> None:
    record = log.appended(0, 1)
    assert record is not None
    assert record.at_ms == log.append_time(0, 1)
    assert record.bytes > 0
    assert log.appended(0, 3) is None


def test_a_topic_has_an_id_and_partitions_and_is_stamped_by_the_broker(log: Log) -> None:
    topic = log.describe()
    assert topic.topic_id
    assert topic.cleanup_policy == "delete"
    assert set(topic.partitions) >= set(log.ends())
    check_stamping(topic)


def test_a_topic_that_producers_stamp_is_refused() -> None:
    with pytest.raises(WrongTimestampType, match="CreateTime"):
        check_stamping(Topic("t", "id", (0,), "CreateTime"))


@pytest.mark.rig
def test_a_missing_topic_is_named(parts: Layout) -> None:
    with pytest.raises(MissingTopic, match="nowhere"):
        KafkaLog(parts.settings.kafka_access(KafkaUser.ADMIN), "nowhere").describe()


@pytest.mark.rig
def test_who_may_not_see_a_topic_is_not_told_whether_there_is_one(parts: Layout) -> None:
    with pytest.raises(TopicHidden, match="kafka_control may not see topic 'nowhere'"):
        KafkaLog(parts.settings.kafka_access(KafkaUser.CONTROL), "nowhere").describe()


@pytest.mark.rig
def test_what_a_client_was_told_of_the_partitions_is_asked_anew(
    kafka_log: KafkaLog, topic: str, admin: KafkaAdminClient
) -> None:
    """Who leads them comes with it: by default a broker that is gone would be taken for the leader for minutes."""
    assert set(kafka_log.ends()) == {0, 1}
    admin.create_partitions({topic: 3})
    assert until(lambda: set(kafka_log.ends()) == {0, 1, 2}, 20)


@pytest.mark.rig
def test_a_record_that_comes_while_a_time_is_looked_up_is_not_skipped(
    parts: Layout, kafka_log: KafkaLog, topic: str
) -> None:
    """A version that starts there would never read it, and nobody would notice: all that judges begins there, too."""
    producer = Producer(parts.settings.kafka_access(KafkaUser.PRODUCER).librdkafka())
    before, asked = kafka_log.ends(), kafka_log._consumer.offsets_for_times

    def and_a_record_comes(times: Any) -> Any:
        found = asked(times)
        producer.produce(topic, b"late comer", partition=1)
        assert producer.flush(30) == 0
        return found

    kafka_log._consumer.offsets_for_times = and_a_record_comes
    assert kafka_log.offsets_at(int(time.time() * 1000) + HOUR_MS) == before


@pytest.mark.rig
def test_where_the_log_has_dropped_a_record_the_first_one_that_is_left_is_found(
    kafka_log: KafkaLog, topic: str, admin: KafkaAdminClient
) -> None:
    admin.delete_records({TopicPartition(topic, 0): 2})
    found = kafka_log.appended(0, 0)
    assert found is not None
    assert found.offset == 2


@pytest.mark.rig
def test_on_one_broker_nothing_is_behind_an_end(
    parts: Layout, kafka_log: KafkaLog, topic: str, admin: KafkaAdminClient
) -> None:
    """Of one replica no more than one has to be in sync, whatever the topic's settings ask for."""
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"min.insync.replicas": "2"})])
    assert kafka_log.unsettled() == frozenset()
    producer = Producer({**parts.settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), "acks": "1"})
    producer.produce(topic, b"told", partition=1)
    assert producer.flush(30) == 0
    assert kafka_log.unsettled() == frozenset()
    assert kafka_log.ends()[1] == 1


@pytest.mark.rig
def test_a_newest_record_that_is_not_told_is_behind_the_end_unless_there_is_none(
    kafka_log: KafkaLog, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On brokers: tests/faults/test_lost_brokers.py."""
    untold = {TopicPartition(topic, number): OffsetAndTimestamp(-1, -1, None) for number in (0, 1)}
    monkeypatch.setattr(kafka_log._admin, "list_partition_offsets", lambda _: untold)
    assert kafka_log.unsettled() == {0}, "partition 1 has no record"
    monkeypatch.setattr(kafka_log, "_short_of_replicas", lambda: frozenset({1}))
    assert kafka_log.unsettled() == {0, 1}, "it could have one"


@pytest.mark.rig
def test_of_a_topic_that_went_away_meanwhile_it_is_said(
    kafka_log: KafkaLog, topic: str, admin: KafkaAdminClient
) -> None:
    assert kafka_log.unsettled() == frozenset()
    admin.delete_topics([topic])
    with pytest.raises(MissingTopic):
        kafka_log.unsettled()
