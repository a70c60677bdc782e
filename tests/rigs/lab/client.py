"""What a person would do with an installation, on a host of it: `python -m tests.rigs.lab.client WORD ...`."""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Producer
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from kafka.errors import KafkaError

from cli.entry import CHECKOUT
from kappa.code import artifacts
from kappa.core.audit import Author
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.kafka_client import connected
from kappa.core.installation.settings import Settings, from_environment
from kappa.core.log.kafka_log import KafkaLog
from kappa.core.requests.lifecycle import DeployRequest
from kappa.platform import connect
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.deploy.steps import carry_out
from oracle.postgres import PostgresDatabase
from oracle.reconcile import SystemClock as OracleClock
from oracle.reconcile import reconcile
from oracle.topic import KafkaTopic
from stack import schema
from stack.layout import Layout
from stack.provisioning import log_access
from stack.services import kafka, postgres
from tests.rigs.events import DISTURBED, mixture
from tests.rigs.lab import leaders, lifecycle
from traffic import log as traffic_log
from traffic.play import SystemClock, play
from traffic.shape import Shape
from traffic.sources import plan_synthetic

MOST_WAITING = 1_000_000
"""All that a test sends may wait for brokers on a busy machine."""
MOST = 500_000  # records of one traffic, which then ends
LINGERING = {"linger.ms": 200}
"""Traffic comes by so many milliseconds at once: each request of its own is copied twice, by TLS, on the same cores."""


def prepare(settings: Settings) -> object:
    """Roles, schema, topic, users and their rights, and an artifact; whatever is there already stays."""
    postgres.ensure_roles(settings)
    schema.migrate(settings)
    kafka.ensure_topic(settings, copies=3)
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


def led_by_one(settings: Settings) -> object:
    """Make the topic so that the first broker leads each partition, and the users; how many partitions there are."""
    assignments = {number: [1, 2, 3] for number in range(settings.topic.partitions)}
    with closing(connected(settings.kafka_access(KafkaUser.ADMIN), KafkaAdminClient)) as admin:
        if settings.topic.name not in admin.list_topics():
            stamped = kafka.configuration(settings.topic)
            admin.create_topics([NewTopic(settings.topic.name, replica_assignments=assignments, topic_configs=stamped)])
    kafka.ensure_topic(settings, copies=3)
    return len(assignments)


def append(settings: Settings) -> object:
    """Append a record to each partition, which its leader alone acknowledges; how many it did not."""
    numbers = range(settings.topic.partitions)
    records = ({"value": b"{}", "partition": number} for number in numbers)
    return sum(_send(settings, records, {"acks": "1", "message.timeout.ms": 20_000}))


def ends(settings: Settings, seconds: str) -> object:
    """What was answered for so long, each another answer than the one before: how many records the log tells, in which
    partitions there may be more, and the fewest replicas in sync that the brokers know of."""
    until, answers = time.monotonic() + float(seconds), list[object]()
    while not answers or time.monotonic() < until:
        with suppress(KafkaError), KafkaLog(settings.kafka_access(KafkaUser.CONTROL), settings.topic.name) as log:
            while not answers or time.monotonic() < until:
                unsettled, told, partitions = log.unsettled(), log.ends(), log._metadata()["partitions"]
                answer = [sum(told.values()), sorted(unsettled), min(len(each["isr_nodes"]) for each in partitions)]
                answers += [answer] if answers[-1:] != [answer] else []
                time.sleep(1)
    return answers


def workers(settings: Settings) -> object:
    """The cores of each of Spark's workers."""
    return sorted(host.cores for host in connect(settings).cluster.capacity().hosts)


def driver(settings: Settings, job: str) -> object:
    """What the cluster says of the driver of a job's serving version."""
    platform = connect(settings)
    launch = platform.registry.open_launch(job, lifecycle.serving(settings)[job])
    return launch and platform.cluster.state(launch.launch_id, launch.names)


def produce(settings: Settings, seed: str, count: str) -> object:
    """Append a seeded mixture with something of every fate."""
    records = ({"value": record.value, "key": record.key} for record in mixture(int(seed), int(count)))
    return _send(settings, records, {"partitioner": "murmur2_random"})


def _send(settings: Settings, records: Iterable[Mapping[str, Any]], more: Mapping[str, Any]) -> list[int]:
    """How many of the records are not sent after a minute, and how many the log did not take."""
    waiting = {"queue.buffering.max.messages": MOST_WAITING}
    producer = Producer({**settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), **waiting, **more})
    failed: list[object] = []
    for record in records:
        producer.produce(
            settings.topic.name, **record,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )  # fmt: skip
        producer.poll(0)
    return [producer.flush(60), len(failed)]


def traffic(settings: Settings, seed: str, rate: str, until: str) -> object:
    """Play something of every fate, so many records a second, until a file is there; how many records the log took,
    how many not, and in how many seconds."""
    shape = Shape(int(seed), MOST, ads=20, clients=4, users=200, ctr=0.2, fractions=DISTURBED)
    plan = plan_synthetic(round(time.time() * 1000), shape, 0.0, float(rate))
    wanted = takewhile(lambda _: not Path(until).exists(), plan.records)
    log = traffic_log.KafkaLog(settings.kafka_access(KafkaUser.PRODUCER).librdkafka(), settings.topic.name, LINGERING)
    played = play(wanted, log, SystemClock(), paced=True)
    return [played.delivered, played.failed, round(played.seconds)]


def state(settings: Settings, job: str) -> object:
    """How many records are unread, how many were read; the newest batch's epoch."""
    with KafkaLog(settings.kafka_access(KafkaUser.CONTROL), settings.topic.name) as log:
        ends = log.ends()
    with _looking(settings) as connection:
        found = connection.execute(
            'select "partition", next_offset from ops.progress where job = %s and version = %s',
            [job, lifecycle.serving(settings)[job]],
        )
        offsets: dict[int, int] = {int(partition): int(offset) for partition, offset in found}
        (epoch,) = connection.execute("select max(epoch) from ops.batches where job = %s", [job]).fetchone() or (None,)
    unread = sum(end - offsets.get(partition, 0) for partition, end in ends.items())
    return [unread, sum(offsets.values()), epoch]


def commits(settings: Settings, job: str, since: str) -> object:
    """When each batch since a time was committed (both in seconds since 1970), and by which epoch."""
    with _looking(settings) as connection:
        return connection.execute(_COMMITS, {"job": job, "since": float(since)}).fetchall()


def starts(settings: Settings, job: str, since: str) -> object:
    """When a driver took the version over, each since a time."""
    with psycopg.connect(settings.dsn("kappa_registry"), connect_timeout=10) as connection:
        return connection.execute(_STARTS, {"job": job, "since": float(since)}).fetchall()


def programs(settings: Settings) -> object:
    """Of each finite program of a change its name, what the cluster calls it, and whether it did well, the oldest
    first."""
    with _looking(settings) as connection:
        return connection.execute(
            "select program, submission_id, (outcome ->> 'ok')::boolean from ops.finite_programs order by begun_at"
        ).fetchall()


def hosts(settings: Settings) -> object:
    """How many hosts the cluster has."""
    return len(connect(settings).cluster.capacity().hosts)


def generations(settings: Settings, job: str, version: str) -> object:
    """The checkpoints of a version."""
    return sorted(settings.checkpoints(job, int(version)).names())


def rows(settings: Settings) -> object:
    """Everything in the database, row by row as text."""
    with psycopg.connect(settings.dsn("kappa_owner"), connect_timeout=10) as connection:
        tables = connection.execute(_TABLES).fetchall()
        return [connection.execute(f"select t::text from {schema}.{table} t").fetchall() for schema, table in tables]


def _looking(settings: Settings) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(settings.dsn("kappa_operator"), connect_timeout=10)


_TABLES = "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"
_STARTS = """select extract(epoch from started_at)::float from registry.driver_start
where job = %(job)s and started_at > to_timestamp(%(since)s) order by 1"""
_COMMITS = """select extract(epoch from committed_at)::float, epoch from ops.batches
where job = %(job)s and committed_at > to_timestamp(%(since)s) order by 1"""


def differences(settings: Settings) -> object:
    """What the oracle finds, and how many records it read."""
    topic = KafkaTopic(settings.kafka_access(KafkaUser.READER).librdkafka(), settings.topic.name)
    verdict = reconcile(topic, PostgresDatabase(settings.dsn("kappa_operator")), None, 60, OracleClock())
    return [str(found) for found in verdict.differences]


WORDS: dict[str, Callable[..., object]] = {
    "prepare": prepare, "deploy": deploy, "produce": produce, "traffic": traffic, "state": state, "commits": commits,
    "starts": starts, "rescale": lifecycle.rescale, "generations": generations, "led_by_one": led_by_one,
    "append": append, "ends": ends, "rows": rows, "serving": lifecycle.serving, "driver": driver,
    "hosts": hosts, "programs": programs, "differences": differences, "access": access, "workers": workers,
    "leader": leaders.master, "leading_broker": leaders.broker,
}  # fmt: skip

if __name__ == "__main__":
    word, *rest = sys.argv[1:]
    print(json.dumps(WORDS[word](from_environment(CHECKOUT, os.environ), *rest)))
