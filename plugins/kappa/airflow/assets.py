"""The assets of the lifecycle DAGs: a stream job, of which an event says that it was changed, and its incidents."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, AssetAlias, AssetWatcher, get_current_context

from kappa.airflow.incident_trigger import IncidentTrigger

CHANGED = AssetAlias("stream_jobs")
"""What a task names that may change a job; events are of the job's own asset, and only where something was changed."""


def job_asset(job: str) -> Asset:
    """The asset that a DAG of somebody else can be scheduled on: kappa_job_<job>."""
    return Asset(name=f"kappa_job_{job}", group="stream_jobs")


def incidents() -> Asset:
    """Incidents of all jobs; its watcher runs in the triggerer."""
    return Asset(
        name="stream_incidents",
        group="stream_jobs",
        watchers=[AssetWatcher(name="incidents", trigger=IncidentTrigger())],
    )


def announce(verb: str, job: str, version: int) -> None:
    """Let the running task, once it has succeeded, emit that the job was changed."""
    context: Any = get_current_context()
    context["outlet_events"][CHANGED].add(job_asset(job), extra={"verb": verb, "job": job, "version": version})
