"""Tries Airflow: that its parts are healthy and that it lets this command in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cli.doctor.trial import Trial, Wrong
from cli.sign_in import session
from kappa.airflow_api import health
from kappa.core.settings import Settings

PART = "Airflow"
PARTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")


def trials(settings: Settings) -> Iterator[Trial]:
    """Its parts by what it says of them, and a session."""
    yield Trial(PART, "parts", partial(_parts, settings))
    yield Trial(PART, "sign-in", partial(_session, settings))


def _parts(settings: Settings) -> str:
    told = health(settings)
    if told is None:
        remedy = "Start its api-server, or correct airflow.url in the settings."
        raise Wrong(f"nothing answers at {settings.airflow_url}", remedy)
    if ill := [part for part in PARTS if (told.get(part) or {}).get("status") != "healthy"]:
        raise Wrong(f"not healthy: {', '.join(ill)}", "Start what is missing; its log says why it ended.")
    return "healthy: " + ", ".join(PARTS)


def _session(settings: Settings) -> str:
    airflow = session(settings)
    there = airflow.ask("to list its DAGs", "GET", "/api/v2/dags?limit=1")["total_entries"]
    return f"let in as {airflow.user}, who sees {there} DAGs"
