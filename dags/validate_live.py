"""Hold what is served against what the gate's suites expect of every version: keys, nulls, money, double entry, equal
spend of both jobs. The present data, of which no promotion knows.

Runs every hour; `[releases] validate_cron` in kappa.toml says when. Looked at are the windows that became final in the
last hours (3, in its form), and while a version does not pass, all since it did not. Nothing is changed or waited for.
What does not pass is a red line until a later run passes, or the version serves no more; the run leaves a report.
"""

from __future__ import annotations

from airflow.sdk import CronTriggerTimetable, dag, task

from kappa.airflow.forms import form
from kappa.airflow.task_context import DEFAULTS, NO_BACKFILL, RUN_TIMEOUT, conducting
from kappa.core.installation.settings import cron
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import ValidateRequest
from kappa.verbs.validate import steps as validate


@task
def look() -> str:
    """Look at what serves, and say what was found. Raises NotAsExpected."""
    with conducting(validate.VERB) as run:
        settings = run.platform.settings
        planned = validate.plan_validate(settings, read(ValidateRequest, run.params).hours)
        print(f"looks at: {validate.told(planned)}")
        if run.dry_run:
            return run.say(f"dry run: would look at {validate.told(planned)}; nothing was changed.")
        return run.say(validate.carry_out(settings, planned, run.author, run.last_try))


@dag(
    dag_id="validate_live",
    dag_display_name="Validate what is live",
    schedule=CronTriggerTimetable(cron("validate_cron"), timezone="UTC"),
    catchup=False,
    allowed_run_types=NO_BACKFILL,
    max_active_runs=1,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["lifecycle", "validation"],
    params=form(ValidateRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def validate_live() -> None:
    look()


validate_live()
