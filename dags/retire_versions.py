"""Retire versions that no segment names and no window, pin or run protects: stopped first, then rows and checkpoint go.

Runs every hour. A previous version runs on for the rollback window, then its state is kept for a day; `[releases]` in
kappa.toml sets both. Never one that a segment names, the last good one, or a pinned one. No reader waits. With job and
version filled in, that one is retired at once, if nothing protects it. It says what was freed.

Three steps beside it keep the disk free: `old_files` removes old logs, outputs, reports and folders of drivers,
`old_rows` folds old batches of the registry into hours and forgets old refused records, and `clean_airflow` removes
what Airflow's own database has kept for a month. A run for one version leaves all three alone.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import CronTriggerTimetable, dag, task

from kappa.airflow.forms import form
from kappa.airflow.lease_tasks import is_over
from kappa.airflow.task_context import DEFAULTS, LONG_TIMEOUT, NO_BACKFILL, RUN_TIMEOUT, conducting
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import RetireRequest
from kappa.verbs.retire import airflow_history
from kappa.verbs.retire import old_files as files
from kappa.verbs.retire import old_rows as rows
from kappa.verbs.retire import steps as retire
from kappa.verbs.retire.plan import RetirePlan

ONE_VERSION = "only one version was asked for."


@task
def plan() -> dict[str, Any]:
    with conducting(retire.VERB) as run:
        planned = retire.plan_retire(run.platform, run.author, read(RetireRequest, run.params).chosen(), is_over)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@task(execution_timeout=LONG_TIMEOUT)
def conclude(planned: dict[str, Any]) -> str:
    with conducting(retire.VERB) as run:
        made = RetirePlan.from_json(planned)
        if run.dry_run:
            return run.say(retire.dry_sentence(made))
        return run.say(retire.carry_out(run.platform, made, run.author, is_over))


@task
def old_files() -> str:
    """Remove what the state folder has kept for long enough. Returns what went."""
    with conducting(retire.VERB) as run:
        if read(RetireRequest, run.params).chosen():
            return ONE_VERSION
        planned = files.plan_old_files(run.platform)
        if run.dry_run:
            return f"dry run: {planned.sentence()}; nothing was changed."
        return files.carry_out(run.platform, planned, run.author)


@task(execution_timeout=LONG_TIMEOUT)
def old_rows() -> str:
    """Fold old batches and forget old refused records. Returns what went."""
    with conducting(retire.VERB) as run:
        if read(RetireRequest, run.params).chosen():
            return ONE_VERSION
        planned = rows.plan_old_rows(run.platform)
        if run.dry_run:
            return f"dry run: {planned.sentence()}; nothing was changed."
        return rows.carry_out(run.platform, planned, run.author)


@task
def clean_airflow() -> str:
    """Remove what Airflow's database has kept for long enough, once a day. Returns how many rows went."""
    with conducting(retire.VERB) as run:
        if read(RetireRequest, run.params).chosen():
            return ONE_VERSION
        if run.dry_run:
            return "dry run: Airflow's database was not looked at."
        return airflow_history.clean(run.platform, run.author)


@dag(
    dag_id="retire_versions",
    dag_display_name="Retire versions",
    schedule=CronTriggerTimetable("5 * * * *", timezone="UTC"),
    catchup=False,
    allowed_run_types=NO_BACKFILL,
    max_active_runs=1,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["lifecycle", "replay"],
    params=form(RetireRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def retire_versions() -> None:
    planned: Any = plan()
    conclude(planned)
    # On their own: what cannot be retired does not keep old files, and none of the four hides that another failed.
    old_files()
    old_rows()
    clean_airflow()


retire_versions()
