"""The one typed Settings: ports, folders and limits of a stack, read from `kappa.toml` beside its state folder."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from kappa.core.refusals import Refusal

ROLES = ("kappa_owner", "kappa_writer", "kappa_registry", "kappa_operator", "kappa_reader")
DATABASE = "kappa"
HOST = "127.0.0.1"

Section = TypeVar("Section")


class UnknownSetting(Refusal):
    """`kappa.toml` names a setting that does not exist."""

    def __init__(self, file: Path, name: str, known: list[str]) -> None:
        super().__init__(
            f"{file}: unknown setting '{name}'; known are {', '.join(known)}. Correct or remove that line."
        )


class InvalidSetting(Refusal):
    """`kappa.toml` gives a setting a value of the wrong type, or cannot be read as TOML."""

    def __init__(self, file: Path, name: str, problem: str) -> None:
        super().__init__(f"{file}: setting '{name}' {problem}. Correct that line.")


@dataclass(frozen=True)
class Ports:
    """Loopback ports of the embedded stack."""

    kafka: int = 19092
    kafka_controller: int = 19093
    postgres: int = 15432
    spark_master: int = 17077
    spark_rest: int = 16066
    spark_ui: int = 18080
    spark_worker: int = 17078
    spark_worker_ui: int = 18081
    airflow: int = 18090


@dataclass(frozen=True)
class Topic:
    """The log. The number of partitions is fixed for the topic's life (contract, section 1)."""

    name: str = "ad_events"
    partitions: int = 6
    retention_hours: int = 168


@dataclass(frozen=True)
class Cluster:
    """What the embedded Spark worker offers; it may offer more cores than the machine has."""

    worker_cores: int = 8
    worker_memory_mb: int = 8192


@dataclass(frozen=True)
class Supervision:
    """When a driver that keeps dying stops being restarted: after `max_restarts` starts within `within_minutes`, or
    after `starts_in_vain` in a row that committed nothing while records wait, however long each took."""

    max_restarts: int = 10
    within_minutes: int = 10
    starts_in_vain: int = 5


@dataclass(frozen=True)
class Releases:
    """How long versions are kept that do not serve: a previous one runs `rollback_minutes`, a candidate whose replay
    ended without a promotion `candidate_minutes`; then rows and checkpoint stay for `state_hours`.

    `prove_cron` (UTC) is when a replay is proved, once somebody has switched that on.
    """

    rollback_minutes: int = 60
    candidate_minutes: int = 60
    state_hours: int = 24
    prove_cron: str = "15 3 * * *"


@dataclass(frozen=True)
class Settings:
    """Everything a process must know about its stack; built once at an entry point and passed down.

    `home` is the state folder (default `.kappa` in the checkout). The settings file is `kappa.toml` beside it.
    `database` is the one in Postgres that holds the registry and all rows.
    """

    home: Path
    postgres_user: str = "postgres"
    database: str = DATABASE
    ports: Ports = field(default_factory=Ports)
    topic: Topic = field(default_factory=Topic)
    cluster: Cluster = field(default_factory=Cluster)
    supervision: Supervision = field(default_factory=Supervision)
    releases: Releases = field(default_factory=Releases)

    @property
    def kafka(self) -> str:
        """Bootstrap address of the log."""
        return f"{HOST}:{self.ports.kafka}"

    @property
    def spark_master(self) -> str:
        """URL of the standalone master."""
        return f"spark://{HOST}:{self.ports.spark_master}"

    @property
    def spark_rest(self) -> str:
        """URL of the master's REST submission server."""
        return f"http://{HOST}:{self.ports.spark_rest}"

    @property
    def spark_ui(self) -> str:
        """URL of the master's page."""
        return f"http://{HOST}:{self.ports.spark_ui}"

    @property
    def airflow(self) -> str:
        """URL of Airflow's api-server."""
        return f"http://{HOST}:{self.ports.airflow}"

    @property
    def secrets(self) -> Path:
        """Folder (0700) of the password files (0600)."""
        return self.home / "secrets"

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
        return self.home / "artifacts"

    @property
    def jars(self) -> Path:
        """Folder of the jars that Spark applications need."""
        return self.home / "jars" / "spark"

    @property
    def class_archive(self) -> Path:
        """The classes of a Spark driver, as a JVM maps them; not there until they are archived."""
        return self.home / "jars" / "spark.jsa"

    def passfile(self, role: str) -> Path:
        """The libpq password file that holds `role`'s password and no other's."""
        return self.secrets / f"{role}.pgpass"

    def dsn(self, role: str, database: str | None = None) -> str:
        """libpq connection string of a role, to the stack's own database by default; it names a password file, never a
        password."""
        passfile = _quoted(str(self.passfile(role)))
        return (
            f"host={HOST} port={self.ports.postgres} dbname={database or self.database} user={role} passfile={passfile}"
        )

    def checkpoint(self, job: str, version: int, generation: int) -> Path:
        """Folder of the Spark checkpoint of a job's version; each restored or repartitioned copy is a generation."""
        return self.home / "checkpoints" / job / f"v{version}" / f"g{generation}"


def load(home: Path) -> Settings:
    """Settings of the stack whose state folder is `home`.

    Raises UnknownSetting, InvalidSetting.
    """
    home = home.absolute()
    file = home.parent / "kappa.toml"
    if not file.exists():
        return Settings(home=home)
    try:
        values = tomllib.loads(file.read_text())
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(file, "(file)", f"cannot be read: {error}") from error
    if "home" in values:
        raise UnknownSetting(file, "home", [f.name for f in fields(Settings) if f.name != "home"])
    return _build(file, "", Settings, {**values, "home": home})


def from_environment(checkout: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings of the stack named by `KAPPA_HOME`, by default `.kappa` in the checkout; for entry points only."""
    return load(Path(environment.get("KAPPA_HOME") or checkout / ".kappa"))


def _quoted(value: str) -> str:
    """A value as libpq's connection strings want it: quoted where it has a space, a quote or a backslash."""
    if not set(value) & set(" '\\"):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _build(file: Path, prefix: str, kind: type[Section], values: Mapping[str, Any]) -> Section:
    """A settings dataclass from a TOML table, each name and type checked against the dataclass."""
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    built: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise UnknownSetting(file, prefix + name, [prefix + k for k in known if k != "home"])
        built[name] = _value(file, prefix + name, known[name].default_factory, known[name].default, value)
    return kind(**built)


def _value(file: Path, name: str, section: Any, default: Any, value: Any) -> Any:
    """One checked value: a nested section, or a scalar of its default's type."""
    if isinstance(section, type):
        if not isinstance(value, dict):
            raise InvalidSetting(file, name, f"must be a table [{name}], not {value!r}")
        return _build(file, f"{name}.", section, value)
    expected = type(default)
    if expected in (int, str) and type(value) is not expected:
        raise InvalidSetting(file, name, f"must be {expected.__name__}, not {value!r}")
    return value
