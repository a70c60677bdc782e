"""Airflow's connections, in a file that Airflow's file secrets backend reads; nobody makes them by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.needs import FINITE_CORES, NOTES_CONNECTION, SPARK_CONNECTION
from stack.layout import Layout
from stack.services import passwords

BACKEND = "airflow.secrets.local_filesystem.LocalFilesystemBackend"
SPARK_LOCAL = {
    "conn_type": "spark",
    "host": f"local[{FINITE_CORES}]",
    "description": "Finite Spark work, beside the task that waits for it",
    "extra": {"deploy-mode": "client", "spark-binary": "spark-submit"},
}


def file(layout: Layout) -> Path:
    """Where they are."""
    return layout.airflow / "connections.json"


def write(layout: Layout) -> None:
    """Write the file, readable by its owner only."""
    login = passwords.airflow_login(layout.settings)
    passwords.write_private(file(layout), as_file(LOOPBACK, layout.settings.ports.airflow, login))


def as_file(host: str, port: int, login: tuple[str, str]) -> str:
    """The text of the file; `login` is name and password of who leaves notes."""
    return json.dumps(wanted(host, port, login), indent=2)


def wanted(host: str, port: int, login: tuple[str, str]) -> dict[str, dict[str, Any]]:
    """The connections by their ids."""
    user, password = login
    return {
        SPARK_CONNECTION: SPARK_LOCAL,
        NOTES_CONNECTION: {
            "conn_type": "http",
            "host": host,
            "port": port,
            "login": user,
            "password": password,
            "description": "The notes of runs",
        },
    }


def section(connections: Path) -> dict[str, str]:
    """Airflow's section `secrets`, for a file of connections."""
    return {"backend": BACKEND, "backend_kwargs": json.dumps({"connections_file_path": str(connections)})}
