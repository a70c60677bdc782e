"""Kafka with and without TLS: how long Spark reads a topic, for how much CPU, and how long it takes to connect."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench import load
from jobs import session
from kappa.core.installation.addresses import Kafka
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find, resolve
from kappa.core.log.kafka_log import KafkaLog
from tests.rigs.staged_driver import local_spark
from tests.rigs.tls_broker import tls_broker

PARTITIONS, CONNECTIONS, SPAN_SECONDS, MEMORY_MB = 4, 10, 600.0, 1_024


@contextmanager
def both_ways(records: int, seed: int) -> Iterator[tuple[Callable[[], Mapping[str, float]], ...]]:
    """What measures a topic of so many records without TLS and with it, at one broker by one Spark."""
    with tls_broker(PARTITIONS) as encrypted, _spark(encrypted) as spark:
        plain = replace(encrypted, kafka=Kafka())
        load.produce(plain, seed, records, SPAN_SECONDS)
        yield tuple(partial(_measure, spark, settings, records) for settings in (plain, encrypted))


def _measure(spark: SparkSession, settings: Settings, records: int) -> Mapping[str, float]:
    access = settings.kafka_access(KafkaUser.STREAM)
    rows = spark.read.format("kafka").options(**access.spark(), subscribe=settings.topic.name).load()
    before, began = _cpu_seconds(settings), time.monotonic()
    (counted,) = rows.agg(F.count("*"), F.sum(F.length("value"))).collect()
    seconds = time.monotonic() - began
    assert counted[0] == records, f"{counted[0]:,} of {records:,} records were read"
    used = _cpu_seconds(settings)
    return {
        "Spark reads the topic, s": seconds,
        "CPU of Spark for it, s": used[0] - before[0],
        "CPU of the broker for it, s": used[1] - before[1],
        "a client connects to Kafka and asks for the log's ends, ms": _connect(settings),
    }


def _connect(settings: Settings) -> float:
    began = time.monotonic()
    for _ in range(CONNECTIONS):
        with KafkaLog(settings.kafka_access(KafkaUser.CONTROL), settings.topic.name) as opened:
            opened.ends()
    return (time.monotonic() - began) * 1_000 / CONNECTIONS


def _cpu_seconds(settings: Settings) -> tuple[float, float]:
    """Of Spark's JVM, which is this process's child, and of the broker."""
    below = [process for process in psutil.Process().children(recursive=True) if process.name() == "java"]
    brokers = [p for p in psutil.process_iter(["cmdline"]) if _is_broker(p.info["cmdline"] or [], settings.home)]
    sparks = [process for process in below if process not in brokers]
    return _used(sparks), _used(brokers)


def _used(processes: list[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


def _is_broker(command: list[str], home: Path) -> bool:
    return "kafka.Kafka" in command and command[-1].startswith(str(home))


@contextmanager
def _spark(settings: Settings) -> Iterator[SparkSession]:
    """Spark as a driver that does its work itself has it, on two cores."""
    os.environ |= local_spark(settings, MEMORY_MB)
    started = session.create("bench-encryption", resolve(find("ad_ctr"), {}))
    try:
        yield started
    finally:
        started.stop()
