"""What each group of containers is given: files of a folder of their own, and of the secrets no more than they use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.needs import POOLS
from kappa.core.installation.settings import ROLES, Settings
from stack.alerts import targets
from stack.containers import brokers, bucket, installation, names
from stack.containers.installation import CA
from stack.containers.names import Chosen, Group
from stack.layout import Layout
from stack.services import airflow, airflow_connections, airflow_imports, kafka, passwords
from stack.services.passwords import SUPERUSER

CLUSTER_ID = "kafka-cluster-id"
SETTINGS = "kappa.toml"
SECRETS: Mapping[Group, tuple[str, ...]] = {
    Group.BROKER: (CA, brokers.KEY, CLUSTER_ID, "kafka_admin.properties"),
    Group.POSTGRES: ("postgres.pem", "postgres.key"),
    Group.MASTER: ("spark-master.properties",),
    Group.WORKER: (
        CA, "spark-worker.properties", "spark-auth.properties", "kafka_stream.properties", "kappa_writer.pgpass",
    ),
    Group.AIRFLOW: (
        CA, "airflow-users.json", "airflow.pgpass", "spark-rest.key", "kafka_control.properties",
        # Finite work runs beside the task that waits for it: a trial reads the log and writes nothing.
        "kafka_stream.properties", "spark-auth.properties", *(f"{role}.pgpass" for role in ROLES),
    ),
    Group.STORES: (
        CA, "postgres.pgpass", "airflow.pgpass", *(f"{user}.properties" for user in KafkaUser),
        *(f"{role}.pgpass" for role in ROLES),
    ),
    Group.MONITOR: (CA, "kafka_control.properties", "kappa_operator.pgpass"),
    Group.S3: (),
}  # fmt: skip
"""Of the files of the secrets folder, those that a group sees; the monitor also the addresses of whom it tells."""
USERS = (Group.WORKER, Group.AIRFLOW, Group.STORES)
"""The groups that are given the keys of the bucket, where there is one."""


def files(ours: Settings, settings: Settings, chosen: Chosen) -> dict[Group, dict[str, str]]:
    """By group, the files it is given and their text. `ours` are the settings of the folder with all secrets,
    `settings` are those of the containers."""
    written = {
        Group.BROKER: {
            "log4j2.yaml": kafka.LOG4J,
            **{f"server-{n}.properties": brokers.properties(settings, chosen, n) for n in range(1, chosen.brokers + 1)},
        },
        Group.POSTGRES: {"password": passwords.password(ours, SUPERUSER)},
        Group.WORKER: {SETTINGS: _installation(chosen)},
        Group.AIRFLOW: {SETTINGS: _installation(chosen), **_of_airflow(ours, settings, chosen)},
        Group.STORES: {SETTINGS: _installation(chosen)},
        Group.MONITOR: {SETTINGS: _installation(chosen), **_of_monitor(ours)},
        Group.S3: {bucket.CONFIGURATION: bucket.of_server(ours.secrets)} if chosen.s3 else {},
    }
    copied = {group: {name: _copied(ours.secrets / name) for name in _seen(group, chosen)} for group in Group}
    return {group: copied[group] | written.get(group, {}) for group in Group}


def _seen(group: Group, chosen: Chosen) -> tuple[str, ...]:
    return (*SECRETS[group], bucket.KEYS) if chosen.s3 and group in USERS else SECRETS[group]


def _copied(file: Path) -> str:
    """A secret's text. A password file of Postgres names the server, so that the password goes nowhere else."""
    text = file.read_text()
    if file.suffix == ".pgpass":
        return f"{names.POSTGRES}:{text.partition(':')[2]}"
    return text


def _installation(chosen: Chosen) -> str:
    return installation.text(installation.inside(chosen), chosen)


def _of_monitor(ours: Settings) -> dict[str, str]:
    files = (targets.address_file(ours, name) for name in ours.alerts.targets)
    return {file.name: _copied(file) for file in files}


def _of_airflow(ours: Settings, settings: Settings, chosen: Chosen) -> dict[str, str]:
    layout = Layout(settings, names.CODE, {})
    sections = airflow.sections(layout, passwords.airflow_keys(ours))
    sections["api"] |= {
        "host": "0.0.0.0",
        "port": str(names.AIRFLOW_PORT),
        "base_url": installation.outside(chosen).airflow,
    }
    sections["secrets"] = airflow_connections.section(names.GIVEN / "connections.json")
    return {
        "airflow.cfg": airflow.as_file(sections),
        "connections.json": airflow_connections.as_file(
            names.AIRFLOW_API, names.AIRFLOW_PORT, passwords.airflow_login(ours)
        ),
        "pools.json": json.dumps({pool["name"]: pool for pool in map(asdict, POOLS)}),
        "airflow_local_settings.py": airflow_imports.text(),
    }
