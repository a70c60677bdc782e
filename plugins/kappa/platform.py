"""Everything outside that a step may touch, behind ports, so that each can be replaced by a fake."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from kafka.errors import KafkaError

from kappa.cluster import Cluster
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import KafkaLog, Log
from kappa.core.log.topic import TopicHidden
from kappa.registry.port import Registry
from kappa.registry.postgres import PostgresRegistry, PostgresReleases
from kappa.registry.releases_port import Releases
from kappa.standalone_cluster import TIMEOUT_SECONDS, Master, StandaloneCluster
from kappa.unavailable import Unreachable

MOST_PAUSE_SECONDS = 5.0
"""The longest time between two questions of who waits."""


class Clock(Protocol):
    """The machine's time, passed in. What is held against the registry is told by `Registry.now`."""

    def now(self) -> datetime:
        """The present, in UTC; it may be moved."""

    def monotonic(self) -> float:
        """Seconds since some moment, which only grow: for deadlines."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class WallClock:
    """The machine's time."""

    def now(self) -> datetime:
        """The present, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment, which only grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Platform:
    """The ports of one stack. `open_log` connects to the log for the length of a `with`."""

    settings: Settings
    registry: Registry
    cluster: Cluster
    open_log: Callable[[], AbstractContextManager[Log]]
    clock: Clock
    releases: Releases


def connect(settings: Settings) -> Platform:
    """The ports of a running stack; nothing is contacted before it is used."""

    @contextmanager
    def open_log() -> Iterator[Log]:
        try:
            with KafkaLog(settings.kafka_access(KafkaUser.CONTROL), settings.topic.name) as log:
                yield log
        except TopicHidden:
            raise
        except KafkaError as error:
            raise Unreachable("Kafka", settings.kafka_server.bootstrap, error) from error

    cluster = cluster_of(settings)
    registry = PostgresRegistry(settings.dsn("kappa_registry"))
    releases = PostgresReleases(settings.dsn("kappa_registry"), settings.dsn("kappa_owner"))
    return Platform(settings, registry, cluster, open_log, WallClock(), releases)


def cluster_of(settings: Settings, seconds: float = TIMEOUT_SECONDS) -> StandaloneCluster:
    """The cluster alone; the page of its master is waited for so long at most."""
    return StandaloneCluster(tuple(map(Master, settings.spark_rest, settings.spark_ui)), settings.spark_key, seconds)


def wait_until(clock: Clock, seconds: float, reached: Callable[[], bool], pause: float = 1.0) -> bool:
    """Ask until it is so, for that long and at most a pause more; whether it came to be."""
    began = clock.monotonic()
    while not reached():
        waited = clock.monotonic() - began
        if waited >= seconds:
            return False
        clock.sleep(pause_seconds(waited, pause))
    return True


def pause_seconds(waited: float, pause: float) -> float:
    """How long to wait until the next question: each takes a new connection or more, on a machine that is busy if the
    answer is late. So who has waited long asks less often, and hears of it no more than a thirtieth of that later."""
    return min(max(pause, waited / 30), MOST_PAUSE_SECONDS)
