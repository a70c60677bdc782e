"""Stop a stream job: ask its driver to finish the batch under way and end, and wait for that.

It is shut out and killed only if it does not. The job stays stopped until it is started or deployed again,
and then goes on where it was.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import TriggerRule, dag, task

from kappa.airflow.assets import CHANGED, announce
from kappa.airflow.forms import form
from kappa.airflow.lease_tasks import bracket
from kappa.airflow.task_context import DEFAULTS, RUN_TIMEOUT, acting, conducting
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import StopRequest
from kappa.core.verb_steps import StopStep
from kappa.verbs.stop import steps as stop
from kappa.verbs.stop.plan import StopPlan
from kappa.verbs.stop.steps import plan_stop


@task
def plan() -> dict[str, Any]:
    with conducting(stop.VERB) as run:
        planned = plan_stop(run.platform, read(StopRequest, run.params).job)
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@task.branch
def choose() -> str:
    with conducting(stop.VERB) as run:
        return run.first_of(tuple(StopStep))


@task(task_id=StopStep.REQUEST)
def request(planned: dict[str, Any]) -> None:
    with acting(stop.VERB) as run:
        made = StopPlan.from_json(planned)
        run.check_lease(made.version)
        stop.request(run.platform, made)


@task(task_id=StopStep.WAIT)
def wait(planned: dict[str, Any]) -> bool:
    with acting(stop.VERB) as run:
        made = StopPlan.from_json(planned)
        run.check_lease(made.version)
        return stop.wait(run.platform, made, run.author)


@task(trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS, outlets=[CHANGED])
def conclude(planned: dict[str, Any], obeyed: bool | None) -> str:
    with conducting(stop.VERB) as run:
        made = StopPlan.from_json(planned)
        if run.dry_run:
            return run.say(stop.dry_sentence(made))
        run.check_lease(made.version)
        if made.steps:
            announce(stop.VERB, run.job, made.version)
        return run.say(stop.conclude(run.platform, made, obeyed is not False, run.author))


@dag(
    dag_id="stop_stream",
    dag_display_name="Stop a stream job",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["lifecycle", "stream"],
    params=form(StopRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def stop_stream() -> None:
    held, given = bracket(stop.VERB)
    planned: Any = plan()
    chosen: Any = choose()
    waited: Any = wait(planned)
    done = conclude(planned, waited)
    held >> planned >> chosen >> request(planned) >> waited >> done >> given
    chosen >> done


stop_stream()
