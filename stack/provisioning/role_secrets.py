"""Which files of the secrets folder a host is given for each of its roles: what its processes read, no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import ROLES, Settings
from kappa.core.refusals import Refusal
from stack.services import passwords


class HostRole(StrEnum):
    """What runs on a host, as terraform/modules/installation calls it."""

    BROKER = "broker"
    POSTGRES = "postgres"
    ZOOKEEPER = "zookeeper"
    SPARK_MASTER = "spark_master"
    SPARK_WORKER = "spark_worker"
    AIRFLOW = "airflow"
    MONITOR = "monitor"
    CLIENT = "client"


CA = "ca.pem"
"""The authority's certificate, which is no secret: every host has it."""
HOST_FILE = "host"
"""In the folder of a host: its name and roles, HOST=ROLE,ROLE. A folder without it is one of all secrets."""
KEY = "tls/{host}.key"
CERTIFICATE = "tls/{host}.crt"
KEY_AND_CERTIFICATE = "tls/{host}.pem"
TLS = (KEY, CERTIFICATE, KEY_AND_CERTIFICATE)
"""Of a host that others ask by TLS, its own."""
OF_POSTGRES = tuple(f"{role}.pgpass" for role in ROLES)
GIVEN: Mapping[HostRole, tuple[str, ...]] = {
    # It reads key and certificate from one file; doctor looks at the certificate alone.
    HostRole.BROKER: (KEY_AND_CERTIFICATE, CERTIFICATE, "kafka_admin.properties"),
    HostRole.POSTGRES: (KEY, CERTIFICATE, "postgres.pgpass"),
    HostRole.ZOOKEEPER: (KEY_AND_CERTIFICATE, CERTIFICATE),
    # Several masters show their certificates to ZooKeeper.
    HostRole.SPARK_MASTER: (KEY_AND_CERTIFICATE, CERTIFICATE, "spark-master.properties"),
    HostRole.SPARK_WORKER: (
        "spark-worker.properties", "spark-auth.properties", "kafka_stream.properties", "kappa_writer.pgpass",
    ),
    HostRole.AIRFLOW: (
        KEY, CERTIFICATE, "airflow-users.json", "airflow.pgpass", "spark-rest.key", "kafka_control.properties",
        # Finite work runs beside the task that waits for it: a trial reads the log and writes nothing.
        "kafka_stream.properties", "spark-auth.properties", *OF_POSTGRES,
    ),
    HostRole.MONITOR: ("kafka_control.properties", "kappa_operator.pgpass"),
    # Makes roles of Postgres, users and rights of Kafka, and asks for whatever a command can do.
    HostRole.CLIENT: (
        "postgres.pgpass", "airflow.pgpass", "spark-rest.key", *(f"{user}.properties" for user in KafkaUser),
        *OF_POSTGRES,
    ),
}  # fmt: skip
"""By role, files of the secrets folder; the monitor also has the addresses of whom it tells."""
LOOKS = frozenset({HostRole.AIRFLOW, HostRole.CLIENT})
"""Where commands are given; doctor looks there at the certificates of all hosts."""


class UnknownRole(Refusal):
    """A host has a role that there is not."""

    def __init__(self, host: str, role: str) -> None:
        super().__init__(f"{host} has the role {role}; known are {', '.join(HostRole)}. Nothing was made. Correct it.")


class Host(NamedTuple):
    """A host by its name, and what runs there."""

    name: str
    roles: tuple[HostRole, ...]

    def __str__(self) -> str:
        return f"{self.name}={','.join(self.roles)}"


def read(word: str) -> Host:
    """The host of a text HOST=ROLE,ROLE; without roles the name alone will do. Raises UnknownRole."""
    name, _, text = word.strip().partition("=")
    known, told = {str(role): role for role in HostRole}, text.split(",") if text else []
    if unknown := [role for role in told if role not in known]:
        raise UnknownRole(name, unknown[0])
    return Host(name, tuple(known[role] for role in told))


def certificates(hosts: Iterable[Host]) -> set[str]:
    """The certificates of these hosts, which are no secrets."""
    return {CERTIFICATE.format(host=host.name) for host in hosts}


def of(secrets: Path) -> Host | None:
    """The host that a secrets folder was made for; None where it is a folder of all secrets. Raises UnknownRole."""
    file = secrets / HOST_FILE
    return read(file.read_text()) if file.exists() else None


def files(settings: Settings, host: Host) -> set[str]:
    """What a host is given of the secrets folder, by paths below it."""
    given = {CA, *(name.format(host=host.name) for role in host.roles for name in GIVEN[role])}
    return given | {*_addresses(settings)} if HostRole.MONITOR in host.roles else given


def of_others(settings: Settings, host: Host) -> set[str]:
    """The secrets in a host's folder that other roles or hosts are given, and this one is not."""
    known = files(settings, Host(host.name, tuple(HostRole))) | {passwords.airflow_keys_file(settings).name}
    there = {str(file.relative_to(settings.secrets)) for file in settings.secrets.rglob("*") if file.is_file()}
    secret = {name for name in there if name in known or (name.startswith("tls/") and not name.endswith(".crt"))}
    return secret - files(settings, host)


def _addresses(settings: Settings) -> list[str]:
    """The files with the addresses of those whom the monitor tells."""
    from stack.alerts import targets  # takes a quarter of a second, which every command would pay

    return [targets.address_file(settings, name).name for name in settings.alerts.targets]
