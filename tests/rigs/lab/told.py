"""What an Airflow on a lab is told of the installation: by its connections and a file without addresses, or by what
Terraform has rendered for its host."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli.entry import CHECKOUT
from kappa.code.environments import SHARED
from kappa.core.installation import connections
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import airflow, passwords
from tests.rigs.lab import parts
from tests.rigs.lab.airflow import PORT, Told
from tests.rigs.lab.parts import CLIENT
from tests.rigs.lab.services import Installed

RENDERED = CHECKOUT / "terraform" / "modules" / "installation" / "airflow"
ADDRESSES = {
    "kafka": ("bootstrap", "protocol", "ca"),
    "postgres": ("host", "port", "sslmode", "sslrootcert"),
    "spark": ("master", "rest", "ui"),
    "airflow": ("url",),
}
"""What connections say, by the settings' table."""


def told_by_connections(installed: Installed) -> Told:
    """Of an installation of `services`; drivers run with the packages of the shared folder. The wheel's command, which
    reads no connection, has a file with all addresses."""
    folder, settings = installed.lab.folder, installed.settings
    tls = folder / "tls"
    bare, own, known = folder / "bare.toml", folder / "own.toml", folder / "connections.json"
    given = tomllib.loads(installed.file.read_text())
    given["spark"]["python"] = SHARED
    given["airflow"] = {"url": f"https://{CLIENT}:{PORT}", "ca": str(tls / "ca.pem")}
    own.write_text(toml(given))
    bare.write_text(toml({table: _without_addresses(table, values) for table, values in given.items()}))
    known.write_text(json.dumps(json.loads((RENDERED / "connections.json").read_text()) | addresses(settings)))
    home = {"KAPPA_HOME": str(settings.home), **parts.store_keys(settings)}
    return Told(
        environment={**home, **own_database(settings), "KAPPA_SETTINGS": str(bare), connections.VARIABLE: "true"},
        of_commands={"KAPPA_SETTINGS": str(own), connections.VARIABLE: "false"},
        pools=RENDERED / "pools.json",
        connections=known,
        certificate=tls / "host.pem",
        key=tls / "host.key",
        ca=tls / "ca.pem",
    )


def told_as_rendered(rendered: Path, secrets: Path) -> Told:
    """Of an installation by Terraform: what it has rendered for this host, and where the host's secrets lie."""
    environment = dict(line.split("=", 1) for line in (rendered / "airflow.env").read_text().splitlines())
    return Told(
        environment=environment,
        of_commands={},
        pools=rendered / "airflow-pools.json",
        connections=rendered / "airflow-connections.json",
        certificate=secrets / "tls" / f"{CLIENT}.crt",
        key=secrets / "tls" / f"{CLIENT}.key",
        ca=secrets / "ca.pem",
    )


def own_database(settings: Settings) -> dict[str, str]:
    """The environment by which Airflow keeps its own books in the installation's Postgres."""
    said = airflow.sections(Layout(settings, CHECKOUT), passwords.airflow_keys(settings))["database"]
    urls = {f"AIRFLOW__DATABASE__{name.upper()}": value for name, value in said.items()}
    return {**urls, "PGSSLROOTCERT": settings.postgres.sslrootcert}


def toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """A settings file of texts, numbers and lists of texts."""
    lines = []
    for table, values in tables.items():
        lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    return "\n".join(lines) + "\n"


def addresses(settings: Settings) -> dict[str, Any]:
    """The connections that say where the parts are."""
    kafka, postgres, spark = settings.kafka, settings.postgres, settings.spark
    extra = {"bootstrap.servers": kafka.bootstrap, "security.protocol": kafka.protocol, "ssl.ca.location": kafka.ca}
    tls = {"sslmode": postgres.sslmode, "sslrootcert": postgres.sslrootcert}
    return {
        connections.POSTGRES: {"conn_type": "postgres", "host": postgres.host, "port": postgres.port, "extra": tls},
        connections.KAFKA: {"conn_type": "kafka", "extra": extra},
        connections.SPARK: {"conn_type": "spark", "host": spark.master},
        connections.SPARK_REST: {"conn_type": "http", "extra": {"rest": spark.rest, "ui": spark.ui}},
    }


def _without_addresses(table: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in ADDRESSES.get(table, ())}
