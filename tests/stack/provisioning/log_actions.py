"""What a user of Kafka may try on the log; each raises what the broker answers where it is not allowed."""

from __future__ import annotations

import secrets

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.log.kafka_log import KafkaLog
from tests.stack.provisioning.broker_by_hand import BrokerByHand

SECONDS = 10.0
SILENT = {"log_level": 0}


def writes(broker: BrokerByHand, user: KafkaUser) -> None:
    """Append a record."""
    said: list[object] = []
    producer = Producer({**broker.settings.kafka_access(user).librdkafka(), "enable.idempotence": False, **SILENT})
    producer.produce(broker.topic, b"v", b"k", on_delivery=lambda error, _: said.append(error))
    assert producer.flush(SECONDS) == 0
    if said != [None]:
        raise KafkaException(said[0])


def reads_in_a_group(broker: BrokerByHand, user: KafkaUser) -> None:
    """Read a record as a member of a consumer group."""
    given = {"group.id": secrets.token_hex(4), "auto.offset.reset": "earliest", **SILENT}
    consumer = Consumer({**broker.settings.kafka_access(user).librdkafka(), **given})
    consumer.subscribe([broker.topic])
    try:
        message = consumer.poll(2 * SECONDS)
        if message is None or message.error():
            raise KafkaException(message and message.error())
    finally:
        consumer.close()


def reads(broker: BrokerByHand, user: KafkaUser) -> None:
    """Look at a record without a group, as drivers and tasks do."""
    with KafkaLog(broker.settings.kafka_access(user), broker.topic) as log:
        assert any(log.appended(partition, 0) for partition, end in log.ends().items() if end)


def makes_a_topic(broker: BrokerByHand, user: KafkaUser) -> None:
    """Make another topic."""
    client = AdminClient({**broker.settings.kafka_access(user).librdkafka(), **SILENT})
    for future in client.create_topics([NewTopic("another", 1, 1)]).values():
        future.result()


def empties_the_log(broker: BrokerByHand, user: KafkaUser) -> None:
    """Delete records."""
    client = AdminClient({**broker.settings.kafka_access(user).librdkafka(), **SILENT})
    for future in client.delete_records([TopicPartition(broker.topic, 0, 1)]).values():
        future.result()
