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
    passwords.write_private(file(layout), json.dumps(wanted(layout), indent=2))


def wanted(layout: Layout) -> dict[str, dict[str, Any]]:
    """The connections by their ids."""
    user, password = passwords.airflow_login(layout.settings)
    return {
        SPARK_CONNECTION: SPARK_LOCAL,
        NOTES_CONNECTION: {
            "conn_type": "http",
            "host": LOOPBACK,
            "port": layout.settings.ports.airflow,
            "login": user,
            "password": password,
            "description": "The notes of runs",
        },
    }


def section(layout: Layout) -> dict[str, str]:
    """Airflow's section `secrets`."""
    return {"backend": BACKEND, "backend_kwargs": json.dumps({"connections_file_path": str(file(layout))})}
