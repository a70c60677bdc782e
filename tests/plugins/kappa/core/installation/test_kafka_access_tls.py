"""A broker with TLS is reached by all three clients, each by the same settings; and by none that does not trust it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from kafka.errors import KafkaError
from pyspark.sql import SparkSession

from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log import kafka_log
from kappa.core.log.kafka_log import KafkaLog
from oracle.topic import KafkaTopic
from tests.rigs.certificates import certify
from tests.rigs.tls_broker import tls_broker
from traffic.log import KafkaLog as Sending
from traffic.log import LogUnreachable

pytestmark = [pytest.mark.rig, pytest.mark.long(minutes=1)]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Settings]:
    with tls_broker(partitions=1) as settings:
        log = Sending(settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), settings.topic.name)
        log.send(b"k", b"v")
        assert log.close().delivered == 1
        yield settings


def test_what_one_client_sent_the_others_read(elsewhere: Settings, spark: SparkSession) -> None:
    topic = elsewhere.topic.name
    with KafkaLog(elsewhere.kafka_access(KafkaUser.CONTROL), topic) as log:
        assert log.ends() == {0: 1}
    reader = KafkaTopic(elsewhere.kafka_access(KafkaUser.READER).librdkafka(), topic)
    assert [record.value for record in reader.records({0: 1})] == [b"v"]
    assert read(spark, elsewhere.kafka_access(KafkaUser.STREAM), topic) == [b"v"]


def test_a_broker_that_another_authority_vouches_for_is_not_spoken_to(
    elsewhere: Settings, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_log, "LONGEST_MS", 2_000)
    monkeypatch.setattr("traffic.log._TIMEOUT_S", 2.0)
    wary = replace(elsewhere, kafka=replace(elsewhere.kafka, ca=str(certify(tmp_path / "others", []))))
    with pytest.raises(KafkaError):
        KafkaLog(wary.kafka_access(KafkaUser.CONTROL), wary.topic.name)
    with pytest.raises(LogUnreachable):
        Sending(wary.kafka_access(KafkaUser.PRODUCER).librdkafka(), wary.topic.name, {"log_level": 0})
    with pytest.raises(Exception, match="SSL handshake failed"):
        read(spark, wary.kafka_access(KafkaUser.STREAM), wary.topic.name)


def read(spark: SparkSession, access: KafkaAccess, topic: str) -> list[bytes]:
    rows = spark.read.format("kafka").options(**access.spark(), subscribe=topic).load().select("value").collect()
    return [bytes(row.value) for row in rows]
