"""The one typed Settings of an installation, read from `kappa.toml` and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kappa.core.installation import addresses, layers
from kappa.core.installation.addresses import LOOPBACK, Airflow, Kafka, Metrics, Places, Postgres, Spark
from kappa.core.installation.alerts import Alerts
from kappa.core.installation.autoscaling import Autoscaling
from kappa.core.installation.embedded import Cluster, Ports
from kappa.core.installation.kafka_access import KafkaAccess, KafkaUser
from kappa.core.store.location import Location
from kappa.core.store.places import at

ROLES = ("kappa_owner", "kappa_writer", "kappa_registry", "kappa_operator", "kappa_reader")
DATABASE = "kappa"


@dataclass(frozen=True)
class Topic:
    """The log. The number of partitions is fixed for the topic's life (contract, section 1)."""

    name: str = "ad_events"
    partitions: int = 6
    retention_hours: int = 168


@dataclass(frozen=True)
class Supervision:
    """When a driver that keeps dying stops being restarted: after `max_restarts` starts within `within_minutes`, or
    after `starts_in_vain` in a row that committed nothing while records wait, however long each took. `warm_standby`:
    whether another driver stands by for each that serves."""

    max_restarts: int = 10
    within_minutes: int = 10
    starts_in_vain: int = 5
    warm_standby: bool = False


@dataclass(frozen=True)
class Releases:
    """How long versions are kept that do not serve: a previous one runs `rollback_minutes`, a candidate whose replay
    ended without a promotion `candidate_minutes`; then rows and checkpoint stay for `state_hours`. In UTC,
    `validate_cron` is when what serves is validated, `prove_cron` when a replay is proved, once that is switched on."""

    rollback_minutes: int = 60
    candidate_minutes: int = 60
    state_hours: int = 24
    prove_cron: str = "15 3 * * *"
    validate_cron: str = "35 * * * *"


@dataclass(frozen=True)
class Settings:
    """Everything a process must know about its installation; built once at an entry point and passed down.

    `home` is the state folder of this host (default `.kappa` in the checkout). `database` is the one in Postgres that
    holds the registry and all rows. Where no address is given, each part is that of the embedded stack, on its port.
    """

    home: Path
    postgres_user: str = "postgres"
    database: str = DATABASE
    kafka: Kafka = field(default_factory=Kafka)
    postgres: Postgres = field(default_factory=Postgres)
    spark: Spark = field(default_factory=Spark)
    airflow: Airflow = field(default_factory=Airflow)
    places: Places = field(default_factory=Places)
    ports: Ports = field(default_factory=Ports)
    topic: Topic = field(default_factory=Topic)
    cluster: Cluster = field(default_factory=Cluster)
    supervision: Supervision = field(default_factory=Supervision)
    releases: Releases = field(default_factory=Releases)
    autoscaling: Autoscaling = field(default_factory=Autoscaling)
    alerts: Alerts = field(default_factory=Alerts)
    metrics: Metrics = field(default_factory=Metrics)

    @property
    def kafka_server(self) -> Kafka:
        """How Kafka is reached."""
        return self.kafka if self.kafka.bootstrap else Kafka(f"{LOOPBACK}:{self.ports.kafka}", "SASL_PLAINTEXT")

    @property
    def database_server(self) -> Postgres:
        """How Postgres is reached."""
        return self.postgres if self.postgres.host else Postgres(LOOPBACK, self.ports.postgres, sslmode="disable")

    @property
    def database_address(self) -> str:
        """Where Postgres is, as people write it."""
        return f"{self.database_server.host}:{self.database_server.port}"

    @property
    def spark_master(self) -> str:
        """URL of the standalone master, by which Spark finds it."""
        return self.spark.master or f"spark://{LOOPBACK}:{self.ports.spark_master}"

    @property
    def spark_rest(self) -> tuple[str, ...]:
        """URLs of the masters' REST submission servers."""
        return self.spark.rest or (f"http://{LOOPBACK}:{self.ports.spark_rest}",)

    @property
    def spark_ui(self) -> tuple[str, ...]:
        """URLs of the masters' pages, in the same order."""
        return self.spark.ui or (f"http://{LOOPBACK}:{self.ports.spark_ui}",)

    @property
    def airflow_url(self) -> str:
        """URL of Airflow's api-server."""
        return self.airflow.url or f"http://{LOOPBACK}:{self.ports.airflow}"

    @property
    def is_embedded(self) -> bool:
        """Whether the parts are those that `./kappa up` starts."""
        return not self.postgres.host

    @property
    def shared(self) -> Path:
        """The folder that all hosts of Spark see at the same path, and others where `needs_shared`."""
        return Path(self.places.shared) if self.places.shared else self.home

    @property
    def store(self) -> Location:
        """The store of checkpoints, of copies of artifacts, and of reports."""
        return at(self.places.store or self.shared)

    @property
    def stores_in_shared(self) -> bool:
        """Whether the store is the shared folder."""
        return str(self.store) == str(self.shared)

    @property
    def needs_shared(self) -> bool:
        """Whether hosts that are none of Spark's need the shared folder, too: it is the store, or all is on one."""
        return self.is_embedded or self.stores_in_shared

    @property
    def secrets(self) -> Path:
        """Folder (0700) of the password files (0600)."""
        return Path(self.places.secrets) if self.places.secrets else self.home / "secrets"

    @property
    def spark_key(self) -> Path:
        """The key that requests to the master's submission server are signed with: base64url, 32 bytes."""
        return self.secrets / "spark-rest.key"

    @property
    def spark_auth(self) -> Path:
        """Properties with the secret by which Spark's master, worker, drivers and executors know each other."""
        return self.secrets / "spark-auth.properties"

    @property
    def artifacts(self) -> Path:
        """Folder of the immutable code artifacts, one folder a digest."""
        return self.shared / "artifacts"

    @property
    def jars(self) -> Path:
        """Folder of the jars that Spark applications need."""
        return self.shared / "jars" / "spark"

    @property
    def class_archive(self) -> Path:
        """The classes of a Spark driver, as a JVM maps them; not there until they are archived."""
        return self.shared / "jars" / "spark.jsa"

    def kafka_access(self, user: KafkaUser) -> KafkaAccess:
        """How one of Kafka's users reaches it."""
        return KafkaAccess(self.kafka_server, user, self.secrets / f"{user}.properties")

    def passfile(self, role: str) -> Path:
        """The libpq password file that holds `role`'s password and no other's."""
        return self.secrets / f"{role}.pgpass"

    def dsn(self, role: str, database: str | None = None) -> str:
        """libpq connection string of a role, to the installation's own database by default; it names a password file,
        never a password."""
        of_role = {"dbname": database or self.database, "user": role, "passfile": str(self.passfile(role))}
        return addresses.connection_string({**self.database_server.parameters(), **of_role})

    def checkpoints(self, job: str, version: int) -> Location:
        """Where all generations of a version's checkpoint lie, each in a folder of its own."""
        return self.store / "checkpoints" / job / f"v{version}"

    def scratch(self, change_id: object) -> Location:
        """Where the programs of a change keep checkpoints that nobody needs after it."""
        return self.store / "work" / str(change_id)


def variables(settings: Settings) -> dict[str, str]:
    """What gives a process on another host these settings, as far as no file of its own says otherwise; of the embedded
    stack, whose processes read its file, nothing. The state folder is each host's own."""
    return {} if settings.is_embedded else layers.to_environment(settings, Settings(settings.home), layers.GIVEN)


def load(
    home: Path, environment: Mapping[str, str] = os.environ, connections: Mapping[str, Any] = MappingProxyType({})
) -> Settings:
    """Settings of the installation whose state folder on this host is `home`: of `kappa.toml` beside it, or the file
    that KAPPA_SETTINGS names, of variables like KAPPA__POSTGRES__HOST, which count more, and of Airflow's connections
    and of what was given by who started this process on another host, which count less.

    Raises UnknownSetting, InvalidSetting, and what `_check` raises.
    """
    home = home.absolute()
    file = Path(environment.get("KAPPA_SETTINGS") or home.parent / "kappa.toml")
    given = layers.of_environment(environment, layers.GIVEN)
    built = layers.build("who started this process", Settings, given, Settings(home))
    built = layers.build("Airflow's connections", Settings, connections, built)
    built = layers.build(file, Settings, layers.of_file(file), built)
    built = layers.build("the environment", Settings, layers.of_environment(environment), built)
    _check(built)
    return built


def from_environment(
    checkout: Path,
    environment: Mapping[str, str] = os.environ,
    connections: Mapping[str, Any] = MappingProxyType({}),
) -> Settings:
    """Settings of the stack named by `KAPPA_HOME`, by default `.kappa` in the checkout; for entry points only."""
    return load(Path(environment.get("KAPPA_HOME") or checkout / ".kappa"), environment, connections)


def cron(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """A cron of `releases` as far as the environment says it: for a DAG file, which reads no other file."""
    return str(environment.get(f"{layers.PREFIX}RELEASES__{name.upper()}", getattr(Releases, name)))


def _check(settings: Settings) -> None:
    """Raises MissingAddress, UnevenMasters, PlainAddress, WrongProtocol, UnknownStore, WrongAlerts,
    WrongAutoscaling."""
    postgres, spark = settings.postgres, settings.spark
    given = {
        "kafka.bootstrap": settings.kafka.bootstrap, "postgres.host": postgres.host, "spark.master": spark.master,
        "spark.rest": spark.rest, "spark.ui": spark.ui, "airflow.url": settings.airflow.url,
    }  # fmt: skip
    addresses.check_complete({name: bool(value) for name, value in given.items()})
    parts = (settings.kafka_server, settings.database_server, spark, settings.airflow, settings.places)
    for part in (*parts, settings.alerts, settings.metrics, settings.autoscaling):
        part.check()
    _ = settings.store
