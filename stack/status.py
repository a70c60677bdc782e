"""What the stack is doing, in the shape of the contract (section 6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jobs.settings import Settings
from stack import job_status
from stack.job_status import RUNBOOK
from stack.layout import Layout
from stack.supervision import Supervisor


def status(settings: Settings, checkout: Path) -> dict[str, Any]:
    """The document of `status --json`.

    {"endpoints": {...}, "processes": [{"name", "pid", "state"}], "jobs": [...],
    "replays": [...], "red": [{"what", "since", "runbook"}]}
    """
    processes = Supervisor(Layout(settings, checkout)).processes()
    red: list[dict[str, str | None]] = [
        {"what": f"process {p.name} is {p.state}", "since": p.started.isoformat(), "runbook": RUNBOOK}
        for p in processes
        if p.state != "RUNNING"
    ]
    if not processes:
        red = [{"what": "the stack is down", "since": None, "runbook": RUNBOOK}]
    versions, lines, replays = job_status.read(settings)
    return {
        "endpoints": endpoints(settings),
        "processes": [{"name": p.name, "pid": p.pid or None, "state": p.state} for p in processes],
        "jobs": versions,
        "replays": replays,
        "red": red + lines,
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
