"""Promote by hand what a replay made, validated and nobody rejected: all its jobs in one transaction, or none.

For a replay whose promotion failed or whose question nobody answered, and to go forward again after a roll-back. Where
somebody has to agree, it cannot be who asked for the replay.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import dag, task

from kappa.airflow.forms import form
from kappa.airflow.replay_tasks import move_graph
from kappa.airflow.task_context import DEFAULTS, REPLAY_TIMEOUT, conducting
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import PromoteRequest
from kappa.verbs.promote import steps as promote

VERB = promote.PROMOTE


@task
def plan() -> dict[str, Any]:
    with conducting(VERB) as run:
        jobs = read(PromoteRequest, run.params).jobs
        planned = promote.plan_promote(run.platform, jobs, run.author, run.asked_at)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@dag(
    dag_id="promote_stream",
    dag_display_name="Promote stream jobs",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=REPLAY_TIMEOUT,
    tags=["lifecycle", "replay"],
    params=form(PromoteRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def promote_stream() -> None:
    move_graph(VERB, plan())


promote_stream()
