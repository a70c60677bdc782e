"""What a person would do with an installation, on a host of it: `python -m tests.rigs.lab.client WORD ...`."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

import psycopg
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient

from cli.entry import CHECKOUT
from kappa.code import artifacts
from kappa.core.audit import Author
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.kafka_client import connected
from kappa.core.kafka_log import KafkaLog
from kappa.core.requests.by_verb import DeployRequest, RescaleRequest
from kappa.core.settings import Settings, from_environment
from kappa.platform import connect
from kappa.verbs.change import steps as change
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.deploy.steps import carry_out
from kappa.verbs.rescale.steps import VERB, plan_rescale
from oracle.postgres import PostgresDatabase
from oracle.reconcile import SystemClock, reconcile
from oracle.topic import KafkaTopic
from stack import schema
from stack.layout import Layout
from stack.provisioning import log_access
from stack.services import kafka_users, postgres
from tests.rigs.events import mixture


def prepare(settings: Settings) -> object:
    """Roles, schema, topic, users and their rights, and an artifact; whatever is there already stays."""
    postgres.ensure_roles(settings)
    schema.migrate(settings)
    access = settings.kafka_access(KafkaUser.ADMIN)
    stamped = {
        "message.timestamp.type": "LogAppendTime",
        "retention.ms": str(settings.topic.retention_hours * 3_600_000),
    }
    topic = NewTopic(settings.topic.name, settings.topic.partitions, 3, config=stamped)
    client = AdminClient(access.librdkafka())
    for future in client.create_topics([topic]).values():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise
    admin = connected(access, KafkaAdminClient)
    kafka_users.ensure(admin, settings)
    admin.close()
    platform = connect(settings)
    return [
        artifacts.build(CHECKOUT, settings.artifacts, datetime.now(UTC)).digest,
        len(platform.cluster.capacity().hosts),
    ]


def deploy(settings: Settings, job: str, given: str) -> object:
    """Deploy a job by the verb's own steps; `given` is its settings as JSON."""
    platform = connect(settings)
    plan = plan_deploy(platform, DeployRequest(job=job, settings=json.loads(given)))
    return carry_out(platform, plan, Author("lab", f"lab-{uuid.uuid4()}"), lambda step: print(step, file=sys.stderr))


def access(settings: Settings) -> object:
    """Topic, users, rights and quotas by Terraform's `targets/local`; whether a second plan would change something."""
    target = log_access.target(Layout(settings, CHECKOUT), lambda line: print(line, file=sys.stderr))
    log_access.apply(target, settings, copies=3)
    return target.changes()


def workers(settings: Settings) -> object:
    """The cores of each of Spark's workers."""
    return sorted(host.cores for host in connect(settings).cluster.capacity().hosts)


def rescale(settings: Settings, job: str, executors: str) -> object:
    """Give a job other executors, by the verb's own steps."""
    platform, by = connect(settings), Author("lab", f"lab-{uuid.uuid4()}")
    plan = plan_rescale(platform, RescaleRequest(job, executors=int(executors)))
    made = change.begin(platform, VERB, job, plan.version, plan.old, plan.new, by)
    change.hold(platform, made, by)
    change.switch(platform, made)
    change.launch(platform, made, by)
    change.ready(platform, made, by)
    return change.conclude(platform, made, by)


def produce(settings: Settings, seed: str, count: str) -> object:
    """Append a seeded mixture with something of every fate."""
    producer = Producer({**settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), "partitioner": "murmur2_random"})
    failed: list[object] = []
    for record in mixture(int(seed), int(count)):
        producer.produce(
            settings.topic.name, record.value, record.key,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )  # fmt: skip
        producer.poll(0)
    return [producer.flush(60), len(failed)]


def state(settings: Settings, job: str) -> object:
    """How many records are unread; the newest batch's epoch, how many batches there are, and when it was committed."""
    with KafkaLog(settings.kafka_access(KafkaUser.CONTROL), settings.topic.name) as log:
        ends = log.ends()
    with psycopg.connect(settings.dsn("kappa_operator"), connect_timeout=10) as connection:
        offsets: dict[int, int] = dict(
            connection.execute('select "partition", next_offset from ops.progress where job = %s', [job])
        )
        told = connection.execute(_STATE, {"job": job}).fetchone()
    unread = sum(end - offsets.get(partition, 0) for partition, end in ends.items())
    return [unread, *(told or ())]


_STATE = """select max(epoch), count(*), extract(epoch from max(committed_at))::float
from ops.batches where job = %(job)s"""


def differences(settings: Settings) -> object:
    """What the oracle finds, and how many records it read."""
    topic = KafkaTopic(settings.kafka_access(KafkaUser.READER).librdkafka(), settings.topic.name)
    verdict = reconcile(topic, PostgresDatabase(settings.dsn("kappa_operator")), None, 60, SystemClock())
    return [str(found) for found in verdict.differences]


WORDS: dict[str, Callable[..., object]] = {
    "prepare": prepare, "deploy": deploy, "produce": produce, "state": state, "differences": differences,
    "access": access, "workers": workers, "rescale": rescale,
}  # fmt: skip

if __name__ == "__main__":
    word, *rest = sys.argv[1:]
    print(json.dumps(WORDS[word](from_environment(CHECKOUT, os.environ), *rest)))
