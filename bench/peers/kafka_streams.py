"""The peer in Kafka Streams: exactly once within Kafka, absolute values into Postgres before each commit."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from bench.peers import jvm, tables
from bench.peers.engines import Peer, Task
from bench.peers.processes import Process
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings

MAIN = "kappa.peers.KafkaStreams"
NAMES = "bench-peers-"
HEAP_MB = 1_024
COMMIT_MS = 100
THREADS = 2
SETTINGS = {
    "processing.guarantee": "exactly_once_v2",
    "commit.interval.ms": str(COMMIT_MS),
    "num.stream.threads": str(THREADS),
    "auto.offset.reset": "earliest",
    "consumer.session.timeout.ms": "10000",
    "consumer.fetch.max.wait.ms": "20",
}


def classpath(settings: Settings) -> str:
    """Its jars, and its classes compiled."""
    return jvm.classpath(settings, "streams", ["Event.java", "KafkaStreams.java"])


def launch(task: Task) -> list[Process]:
    """Begin at the task's offsets, under a name that no earlier run had."""
    name = f"{NAMES}{uuid.uuid4().hex[:8]}"
    path = classpath(task.settings)
    _begin_at(task, name)
    file = task.folder / "streams.properties"
    file.write_text(written({**jvm.kafka(task.settings), **SETTINGS, **_of_run(task, name)}))
    arguments = [str(file), task.settings.topic.name, jvm.database_url(task.settings), tables.NAME]
    argv = jvm.command(task.settings, path, MAIN, *arguments, heap_mb=HEAP_MB)
    process = Process(task.settings, MAIN, argv, task.folder / "streams.log")
    process.start()
    return [process]


def remove(settings: Settings) -> None:
    """Delete the topics that Kafka Streams has made for its state and between its steps."""
    admin = AdminClient(settings.kafka_access(KafkaUser.ADMIN).librdkafka())
    made = [name for name in admin.list_topics(timeout=10).topics if name.startswith(NAMES)]
    for deleted in admin.delete_topics(made).values() if made else ():
        deleted.result()


def written(properties: Mapping[str, str]) -> str:
    """A properties file of these."""
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def _of_run(task: Task, name: str) -> dict[str, str]:
    """A name of its own in the group lets a killed process come back at once, rather than after its session's end."""
    return {
        "application.id": name,
        "state.dir": str(task.folder / "state"),
        "consumer.group.instance.id": name,
    }


def _begin_at(task: Task, name: str) -> None:
    access = task.settings.kafka_access(KafkaUser.ADMIN).librdkafka()
    consumer = Consumer({**access, "group.id": name, "enable.auto.commit": False})
    topic = task.settings.topic.name
    offsets = [TopicPartition(topic, partition, offset) for partition, offset in task.starts.items()]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


ENGINE = Peer("Kafka Streams", ("peer kafka streams",), launch, classpath)
