"""Stop a stream job: ask its driver to finish the batch under way and end, and wait for that.

It is shut out and killed only if it does not. The job stays stopped until it is started or deployed again,
and then goes on where it was.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import dag, task
from kappa.operators import form
from kappa.operators.conduct import DEFAULTS, RUN_SECONDS, conducting
from kappa.plans.switch import StopPlan
from kappa.steps import stop
from kappa.steps.observe import plan_stop


@task
def plan() -> dict[str, Any]:
    with conducting(stop.VERB) as run:
        planned = plan_stop(run.platform, run.job)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@task
def conclude(planned: dict[str, Any]) -> str:
    with conducting(stop.VERB) as run:
        if run.params["dry_run"]:
            return stop.dry_sentence(StopPlan.from_json(planned))
        return stop.stop(run.platform, StopPlan.from_json(planned), run.author)


@dag(
    dag_id="stop_stream",
    dag_display_name="Stop a stream job",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=timedelta(seconds=RUN_SECONDS),
    tags=["lifecycle", "stream"],
    params=form.stop(),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def stop_stream() -> None:
    planned: Any = plan()
    conclude(planned)


stop_stream()
