"""Kafka: one KRaft node on loopback from its own jars, and the topic of the log."""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import BrokerNotAvailableError, KafkaError, TopicAlreadyExistsError
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_fixed

from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.kafka_client import connected
from kappa.core.installation.settings import Settings, Topic
from kappa.core.refusals import Refusal
from stack.layout import Layout
from stack.programs import NotHealthy, Program
from stack.services import kafka_users

NAME = "kafka"
LOG4J = """\
Configuration:
  status: warn
  Appenders:
    Console:
      name: console
      PatternLayout:
        pattern: "%d{ISO8601} %p %c{1}: %m%n"
  Loggers:
    Root:
      level: warn
      AppenderRef:
        ref: console
    Logger:
      - name: kafka.server.KafkaRaftServer
        level: info
"""


SMALL: Mapping[str, object] = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    "num.network.threads": 2,
    "num.io.threads": 2,
    "background.threads": 2,
    "log.cleaner.dedupe.buffer.size": 16777216,
    # What is acknowledged is on the disk a second later: a single broker has no copy elsewhere. Each message at once
    # would cost a producer at 500 records/s most of a second a record (docs/decisions/0027).
    "log.flush.interval.ms": 1000,
    "log.flush.scheduler.interval.ms": 1000,
}
"""Of a broker that shares its machine with all other parts."""


class WrongTopic(Refusal):
    """The topic was made otherwise than the settings want it."""

    def __init__(self, settings: Settings, what: str, is_now: object, must_be: object) -> None:
        wipe = ", or delete all data with './kappa down --wipe'" if settings.is_embedded else ""
        super().__init__(
            f"topic '{settings.topic.name}' has {what} {is_now}, but must have {must_be}. It was left as it is: name "
            f"another topic in kappa.toml (topic.name), set what it has (topic.partitions){wipe}."
        )


def own_topics(brokers: int) -> dict[str, object]:
    """Kafka's own topics: of one partition each, on so many brokers, of which two must have a record where there are
    as many."""
    own, least = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"), min(brokers, 2)
    return {
        **{f"{topic}.replication.factor": brokers for topic in own},
        **{f"{topic}.num.partitions": 1 for topic in own},
        "transaction.state.log.min.isr": least,
        "share.coordinator.state.topic.min.isr": least,
    }


def properties(settings: Settings, data: Path) -> str:
    """server.properties of the single node."""
    ports = settings.ports
    client, controller = kafka_users.CLIENT, kafka_users.CONTROLLER
    listeners = f"{client}://{LOOPBACK}:{ports.kafka},{controller}://{LOOPBACK}:{ports.kafka_controller}"
    values = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.bootstrap.servers": f"{LOOPBACK}:{ports.kafka_controller}",
        "listeners": listeners,
        "advertised.listeners": listeners,
        "controller.listener.names": controller,
        **kafka_users.properties(settings),
        "log.dirs": data,
        **own_topics(brokers=1),
        **SMALL,
        "num.replica.fetchers": 1,
        "log.retention.hours": -1,
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())


def program(layout: Layout, java: str) -> Program:
    """The broker's process."""
    options = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    log4j = f"-Dlog4j2.configurationFile={(layout.kafka / 'log4j2.yaml').as_uri()}"
    command = (java, *options, log4j, "-cp", f"{layout.broker_jars}/*", "kafka.Kafka", str(_file(layout)))
    ports = ("kafka", "kafka_controller")
    return Program(NAME, command, layout.kafka, ports=ports, patience=60)


def prepare(layout: Layout, java: str) -> None:
    """Write the configuration; format the storage unless it is."""
    layout.kafka.mkdir(exist_ok=True)
    _file(layout).write_text(properties(layout.settings, layout.kafka / "data"))
    (layout.kafka / "log4j2.yaml").write_text(LOG4J)
    if (layout.kafka / "data" / "meta.properties").exists():
        return
    tool = [
        java,
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-cp",
        f"{layout.broker_jars}/*",
        "kafka.tools.StorageTool",
        "format",
    ]
    arguments = ["--standalone", "--ignore-formatted", "-t", cluster_id(), "-c", str(_file(layout))]
    done = subprocess.run([*tool, *arguments], env=layout.surroundings, capture_output=True, text=True)
    if done.returncode:
        log = layout.logs / "kafka-format.log"
        log.write_text(done.stdout + done.stderr)
        raise NotHealthy(NAME, "could not format its storage", log)


def cluster_id(draw: Callable[[], uuid.UUID] = uuid.uuid4) -> str:
    """A new id of a Kafka cluster; never one that begins with a dash, which the tool would take for an option."""
    drawn = base64.urlsafe_b64encode(draw().bytes).decode().rstrip("=")
    return cluster_id(draw) if drawn.startswith("-") else drawn


def healthy(settings: Settings) -> bool:
    """The broker answers a client's question for metadata."""
    try:
        ask(settings)
    except KafkaError:
        return False
    return True


def ask(settings: Settings, seconds: float = 5.0) -> None:
    """Ask the broker for its metadata; each of its answers may take so long. Raises KafkaError.

    Its administrator is the embedded stack's own; elsewhere whoever looks at the log asks."""
    milliseconds, user = round(seconds * 1000), KafkaUser.ADMIN if settings.is_embedded else KafkaUser.CONTROL
    with _admin(settings, milliseconds, milliseconds, user) as admin:
        if not admin.describe_cluster()["brokers"]:
            raise BrokerNotAvailableError


@retry(retry=retry_if_exception_type(KafkaError), stop=stop_after_attempt(4), wait=wait_fixed(2), reraise=True)
def ensure_users(settings: Settings) -> None:
    """Create the users, each with the password of its file, and their rights. Raises Refusal, KafkaError."""
    with _admin(settings) as admin:
        kafka_users.ensure(admin, settings)


@retry(retry=retry_if_exception_type(KafkaError), stop=stop_after_attempt(4), wait=wait_fixed(2), reraise=True)
def ensure_topic(settings: Settings, copies: int = 1) -> None:
    """Create the users, and the topic of the log unless it exists, each record on so many brokers; retention follows
    the settings. Raises WrongTopic if the topic differs.

    A broker that has just started on a busy machine may miss a request's time; each step can be done again.
    """
    topic = settings.topic
    with _admin(settings) as admin:
        kafka_users.ensure(admin, settings)
        if topic.name not in admin.list_topics():
            _create(admin, topic, copies)
        _check(admin, settings)
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic.name, {"retention.ms": _retention_ms(topic)})]
        )


@retry(retry=retry_if_exception_type(KafkaError), stop=stop_after_attempt(4), wait=wait_fixed(2), reraise=True)
def has_topic(settings: Settings) -> bool:
    """Whether the topic of the log is there. Raises KafkaError."""
    with _admin(settings) as admin:
        return settings.topic.name in admin.list_topics()


def configuration(topic: Topic) -> dict[str, str]:
    """What Kafka is told of the topic: the broker stamps each record, and keeps it as long as the settings say."""
    return {"message.timestamp.type": "LogAppendTime", "retention.ms": _retention_ms(topic)}


def _create(admin: KafkaAdminClient, topic: Topic, copies: int) -> None:
    wanted = {"num_partitions": topic.partitions, "replication_factor": copies, "configs": configuration(topic)}
    try:
        admin.create_topics({topic.name: wanted}, wait_for_metadata=True)
    except TopicAlreadyExistsError:
        return


def _check(admin: KafkaAdminClient, settings: Settings) -> None:
    """Partitions and the kind of append time are fixed for the topic's life (contract, section 1)."""
    topic = settings.topic
    partitions = len(admin.describe_topics([topic.name])[0]["partitions"])
    if partitions != topic.partitions:
        raise WrongTopic(settings, "a number of partitions of", partitions, topic.partitions)
    resource = ConfigResource(ConfigResourceType.TOPIC, topic.name)
    described = admin.describe_configs([resource], config_filter="all")["topic"][topic.name]
    timestamps = described["message.timestamp.type"]["value"]
    if timestamps != "LogAppendTime":
        raise WrongTopic(settings, "message.timestamp.type", timestamps, "LogAppendTime")


def _retention_ms(topic: Topic) -> str:
    return str(topic.retention_hours * 3_600_000)


def _admin(
    settings: Settings, request_ms: int = 5000, bootstrap_ms: int = 2000, user: KafkaUser = KafkaUser.ADMIN
) -> KafkaAdminClient:
    return connected(
        settings.kafka_access(user),
        KafkaAdminClient,
        request_timeout_ms=request_ms,
        bootstrap_timeout_ms=bootstrap_ms,
    )


def _file(layout: Layout) -> Path:
    return layout.kafka / "server.properties"
