"""Roll back the newest release of stream jobs: the versions that served before serve again, all or none.

The plan says first how fresh these versions are, and until when they can be rolled back to. One that is stopped is
started and catches up first; the hand-over is that of a promotion, so no number is less exact than before.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import dag, task

from kappa.airflow.forms import form
from kappa.airflow.replay_tasks import move_graph
from kappa.airflow.task_context import DEFAULTS, REPLAY_TIMEOUT, conducting
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import RollbackRequest
from kappa.verbs.promote import steps as promote

VERB = promote.ROLLBACK


@task
def plan() -> dict[str, Any]:
    with conducting(VERB) as run:
        planned = promote.plan_rollback(run.platform, read(RollbackRequest, run.params).jobs)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@dag(
    dag_id="rollback_stream",
    dag_display_name="Roll back stream jobs",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=REPLAY_TIMEOUT,
    tags=["lifecycle", "replay"],
    params=form(RollbackRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def rollback_stream() -> None:
    move_graph(VERB, plan())


rollback_stream()
