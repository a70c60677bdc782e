"""More cores for `ad_ctr` on working days than at night: a schedule asks for the verb `rescale`, as a person would.

The run that it starts is one of `rescale_stream`: it has a plan, a lease and a row in the audit, and refuses what the
cluster cannot place. Where the job has that many cores already, it changes nothing.
"""

from __future__ import annotations

from datetime import datetime

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import CronTriggerTimetable, dag

JOB = "ad_ctr"
HOURS = {"busy_hours": ("0 7 * * 1-5", 2), "quiet_hours": ("0 20 * * 1-5", 1)}
"""DAG -> when (UTC), and with how many cores from then on."""


def rescale(dag_id: str, cron: str, cores: int) -> None:
    """Make the DAG that asks for so many cores."""

    @dag(
        dag_id=dag_id,
        schedule=CronTriggerTimetable(cron, timezone="UTC"),
        start_date=datetime(2026, 1, 1),
        catchup=False,
        max_active_runs=1,
        tags=["example"],
        doc_md=__doc__,
        is_paused_upon_creation=True,
    )
    def ask() -> None:
        TriggerDagRunOperator(
            task_id="rescale",
            trigger_dag_id="rescale_stream",
            conf={"job": JOB, "cores": cores, "reason": dag_id.replace("_", " ")},
            wait_for_completion=True,
            deferrable=True,
        )

    ask()


for name, (when, number) in HOURS.items():
    rescale(name, when, number)
