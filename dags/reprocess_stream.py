"""Replay the log into new versions of stream jobs, compare them with the live ones, ask, and let them serve.

The candidates read beside the live versions into rows, checkpoints and state of their own, exactly from T on. When they
have caught up, Great Expectations compares them in a process of its own; then the job's policy, or the form, says
whether somebody is asked. All jobs are promoted in one transaction, or none. What is rejected, or nobody answered in
12 hours, ends the run without an error, and without an event. A dry run prints plan and price in the log of `plan`.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import dag, task

from kappa.airflow.forms import form
from kappa.airflow.replay_tasks import replay_graph
from kappa.airflow.task_context import DEFAULTS, REPLAY_TIMEOUT, conducting
from kappa.core.requests.fields import read
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.observation import plan_reprocess

VERB = reprocess.VERB


@task
def plan() -> dict[str, Any]:
    with conducting(VERB) as run:
        staged = reprocess.recall(run.platform, VERB, run.author)
        planned = staged or plan_reprocess(run.platform, read(ReprocessRequest, run.params))
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@dag(
    dag_id="reprocess_stream",
    dag_display_name="Reprocess stream jobs",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=REPLAY_TIMEOUT,
    tags=["lifecycle", "replay"],
    params=form(ReprocessRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def reprocess_stream() -> None:
    replay_graph(VERB, plan())


reprocess_stream()
