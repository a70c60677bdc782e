"""Repair stream jobs: what should run and does not is started again; the rest is reported with its numbers.

Runs when the trigger of the asset `stream_incidents` sees an incident, and every 15 minutes for what it missed. What a
lifecycle verb holds is never touched, and what keeps dying is given up, not churned.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import AssetOrTimeSchedule, CronTriggerTimetable, dag, task

from kappa.airflow.assets import CHANGED, announce, incidents
from kappa.airflow.forms import form
from kappa.airflow.lease_tasks import is_over
from kappa.airflow.task_context import DEFAULTS, LONG_TIMEOUT, NO_BACKFILL, RUN_TIMEOUT, conducting
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import RepairRequest
from kappa.verbs.repair import steps as repair
from kappa.verbs.repair.plan import RepairPlan

SWEEP = CronTriggerTimetable("*/15 * * * *", timezone="UTC")


@task
def plan() -> dict[str, Any]:
    with conducting(repair.VERB) as run:
        planned = repair.plan_repair(run.platform, read(RepairRequest, run.params).job, is_over)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@task(outlets=[CHANGED], execution_timeout=LONG_TIMEOUT)
def conclude(planned: dict[str, Any]) -> str:
    with conducting(repair.VERB) as run:
        made = RepairPlan.from_json(planned)
        if run.dry_run:
            return run.say(repair.dry_sentence(made))
        for job, version in made.touched:
            announce(repair.VERB, job, version)
        return run.say(repair.carry_out(run.platform, made, run.author, is_over))


@dag(
    dag_id="repair_stream",
    dag_display_name="Repair stream jobs",
    schedule=AssetOrTimeSchedule(timetable=SWEEP, assets=[incidents()]),
    catchup=False,
    allowed_run_types=NO_BACKFILL,
    max_active_runs=1,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["lifecycle", "stream"],
    params=form(RepairRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def repair_stream() -> None:
    planned: Any = plan()
    conclude(planned)


repair_stream()
