"""Say what this Airflow and its workers lack for our DAGs to run, each with the command that mends it.

Looked at are pools, connections, whether a run's note can be left, the roles of the registry, and the shared folder
or, where that need not be seen, the store.
The run fails where anything is wrong; `./kappa doctor` starts it, too, and shows the same. Nothing is changed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from airflow.sdk import dag, get_current_context, task

from kappa.airflow import installation, run_note
from kappa.airflow.task_context import DEFAULTS, RUN_TIMEOUT
from kappa.airflow_api import Run
from kappa.core.installation.needs import lacking, not_looked_at


@task
def look() -> dict[str, Any]:
    """What is wrong, as {"part", "wrong", "remedy"}, and what could not be looked at."""
    settings = installation.own_settings()
    seen = installation.look(settings, _run())
    found = [asdict(one) for one in lacking(seen, settings.is_embedded)]
    return {"findings": found, "not_looked_at": not_looked_at(seen)}


@task
def conclude(found: dict[str, Any]) -> str:
    """Say it on the run's page. Raises InstallationLacks."""
    settings, hidden = installation.own_settings(), "; ".join(found["not_looked_at"])
    unseen = f" Not looked at: {hidden}." if hidden else ""
    problem = installation.InstallationLacks(found["findings"]) if found["findings"] else None
    sentence = f"{problem or 'all is well.'}{unseen}"
    run_note.leave(settings, _run(), sentence)
    if problem:
        raise problem
    return sentence


def _run() -> Run:
    context: Any = get_current_context()
    return Run(context["dag_run"].dag_id, context["dag_run"].run_id)


@dag(
    dag_id="check_installation",
    dag_display_name="Check the installation",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["installation"],
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def check_installation() -> None:
    found: Any = look()
    conclude(found)


check_installation()
