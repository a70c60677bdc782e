"""Retire versions that no segment names and no window, pin or run protects: stopped first, then rows and checkpoint go.

Runs every hour. A previous version runs on for the rollback window, then its state is kept for a day; `[releases]` in
kappa.toml sets both. Never one that a segment names, the last good one, or a pinned one. No reader waits. With job and
version filled in, that one is retired at once, if nothing protects it. It says what was freed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from airflow.sdk import CronTriggerTimetable, dag, task
from kappa.operators import replay_form
from kappa.operators.conduct import ACCESS, DEFAULTS, LONG_TIMEOUT, RUN_TIMEOUT, conducting
from kappa.operators.holding import is_over
from kappa.plans.retiring import RetirePlan
from kappa.steps import retire


@task
def plan() -> dict[str, Any]:
    with conducting(retire.VERB) as run:
        planned = retire.plan_retire(run.platform, run.author, replay_form.to_retire(run.params), is_over)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@task(execution_timeout=LONG_TIMEOUT)
def conclude(planned: dict[str, Any]) -> str:
    with conducting(retire.VERB) as run:
        made = RetirePlan.from_json(planned)
        if run.dry_run:
            return run.say(retire.dry_sentence(made))
        return run.say(retire.carry_out(run.platform, made, run.author, is_over))


@dag(
    dag_id="retire_versions",
    dag_display_name="Retire versions",
    schedule=CronTriggerTimetable("5 * * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["lifecycle", "replay"],
    params=replay_form.retire(),
    default_args=dict(DEFAULTS),
    access_control=dict(ACCESS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def retire_versions() -> None:
    planned: Any = plan()
    conclude(planned)


retire_versions()
