"""What the stack is doing, in the shape of the contract (section 6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from jobs.settings import Settings
from stack.layout import Layout
from stack.supervision import Supervisor

RUNBOOK = "docs/runbook.md"


def status(settings: Settings, checkout: Path) -> dict[str, Any]:
    """The document of `status --json`.

    {"endpoints": {...}, "processes": [{"name", "pid", "state"}], "jobs": [...],
    "red": [{"what", "since", "runbook"}]}
    """
    processes = Supervisor(Layout(settings, checkout)).processes()
    red: list[dict[str, str | None]] = [
        {"what": f"process {p.name} is {p.state}", "since": p.started.isoformat(), "runbook": RUNBOOK}
        for p in processes
        if p.state != "RUNNING"
    ]
    if not processes:
        red = [{"what": "the stack is down", "since": None, "runbook": RUNBOOK}]
    return {
        "endpoints": endpoints(settings),
        "processes": [{"name": p.name, "pid": p.pid or None, "state": p.state} for p in processes],
        "jobs": jobs(settings),
        "red": red,
    }


def endpoints(settings: Settings) -> dict[str, str]:
    """Addresses of the parts; a DSN names a password file, never a password."""
    return {
        "kafka": settings.kafka,
        "postgres": settings.dsn("kappa_reader"),
        "postgres_ops": settings.dsn("kappa_operator"),
        "airflow": settings.airflow,
        "spark": settings.spark_master,
    }


def jobs(settings: Settings) -> list[dict[str, Any]]:
    """Each job with its versions as the registry knows them; none while there is no registry."""
    try:
        with psycopg.connect(settings.dsn("kappa_operator"), connect_timeout=3) as connection:
            rows = connection.execute(
                "select job, version, state from ops.versions order by job, version"
            ).fetchall()
    except (psycopg.OperationalError, psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
        return []
    versions: dict[str, list[dict[str, Any]]] = {}
    for job, version, state in rows:
        versions.setdefault(job, []).append({"version": version, "state": state})
    return [{"job": job, "versions": known} for job, known in versions.items()]
