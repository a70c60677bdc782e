"""The note of a run: what was done, in a sentence, on the run's page. Airflow takes it over its REST API only."""

from __future__ import annotations

import logging

import httpx

from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import embedded
from kappa.core.refusals import Refusal
from kappa.core.settings import Settings

TASKS_USER = "operator"
PATIENCE = httpx.Timeout(5.0)

log = logging.getLogger(__name__)


def leave(settings: Settings, run: Run, text: str, transport: httpx.BaseTransport | None = None) -> bool:
    """Set the run's note; whether that worked. The audit is the record: a note that could not be left fails nothing."""
    try:
        signed_in(settings, transport).note(run, text)
    except Refusal as problem:
        log.warning("no note was left on the run: %s", problem)
        return False
    return True


def signed_in(settings: Settings, transport: httpx.BaseTransport | None = None) -> Airflow:
    """Airflow as a task may ask it. Raises NoPassword."""
    return Airflow(embedded(settings, TASKS_USER), transport, PATIENCE)
