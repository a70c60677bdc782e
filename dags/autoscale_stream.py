"""Carry out the advice on the jobs' sizes by itself, as far as `[autoscaling]` in kappa.toml allows; by default it is
off, and a run says so and does nothing.

Looks every 10 minutes. What the policy lets through is in the audit with the numbers that decided, and then is a run of
`rescale_stream`, which has its own plan, lease and refusals. A job is rescaled so at most once within the cool-down.
"""

from __future__ import annotations

from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import CronTriggerTimetable, dag, task

from kappa.airflow.forms import form
from kappa.airflow.task_context import DEFAULTS, NO_BACKFILL, RUN_TIMEOUT, conducting
from kappa.core.requests.lifecycle import AutoscaleRequest
from kappa.core.verb_steps import Verb
from kappa.verbs.autoscale import steps as autoscale


@task
def plan() -> list[dict[str, Any]]:
    """The forms of the rescales that are asked for."""
    with conducting(autoscale.VERB) as run:
        planned = autoscale.plan_autoscale(run.platform)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        if run.dry_run:
            run.say(f"dry run: {planned.sentence()}")
            return []
        forms = autoscale.ask(run.platform, planned, run.author)
        run.say(planned.sentence())
        return forms


@dag(
    dag_id="autoscale_stream",
    dag_display_name="Rescale stream jobs as advised",
    schedule=CronTriggerTimetable("*/10 * * * *", timezone="UTC"),
    catchup=False,
    allowed_run_types=NO_BACKFILL,
    max_active_runs=1,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["lifecycle", "stream"],
    params=form(AutoscaleRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def autoscale_stream() -> None:
    asked: Any = plan()
    TriggerDagRunOperator.partial(task_id="rescale", trigger_dag_id=Verb.RESCALE.dag_id).expand(conf=asked)


autoscale_stream()
