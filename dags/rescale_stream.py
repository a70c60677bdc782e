"""Rescale a stream job: other partitions of its state, other cores, other executors.

The next driver is started and warmed beside the present one. Cores, executors: a restart, the state is not touched.
State partitions: the driver finishes its batch and ends, its checkpoint is copied and repartitioned by a Spark
application of its own, the copy is proved equal row by row, and the next driver goes on from it. The old checkpoint is
kept until the next rescale. The same numbers again: nothing is done. What fails ends forward or back, never in between.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import TriggerRule, dag, task

from kappa.airflow import change_tasks
from kappa.airflow.assets import CHANGED, announce
from kappa.airflow.forms import form
from kappa.airflow.lease_tasks import bracket
from kappa.airflow.spark_program import FiniteSparkOperator
from kappa.airflow.task_context import DEFAULTS, RUN_TIMEOUT, acting, conducting
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.core.verb_steps import RescaleStep
from kappa.verbs.change import steps as change
from kappa.verbs.drivers.finite_program import Program
from kappa.verbs.rescale import steps as rescale
from kappa.verbs.rescale.plan import Action, RescalePlan

Json = dict[str, Any]


@task
def plan() -> Json:
    with conducting(rescale.VERB) as run:
        planned = rescale.plan_rescale(run.platform, read(RescaleRequest, run.params))
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        return planned.to_json()


@task.branch
def choose(planned: Json) -> str:
    with conducting(rescale.VERB) as run:
        return run.first_of(RescalePlan.from_json(planned).steps)


@task(task_id=RescaleStep.BEGIN)
def begin(planned: Json) -> None:
    with acting(rescale.VERB) as run:
        made = RescalePlan.from_json(planned)
        run.check_lease(made.version)
        change.begin(run.platform, rescale.VERB, run.job, made.version, made.old, made.new, run.author)


@task(trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS, outlets=[CHANGED])
def conclude(planned: Json) -> str:
    with conducting(rescale.VERB) as run:
        made = RescalePlan.from_json(planned)
        if run.dry_run:
            return run.say(rescale.dry_sentence(made))
        run.check_lease(made.version)
        if made.action is Action.UNCHANGED:
            return run.say(rescale.unchanged(run.platform, made, run.author))
        announce(rescale.VERB, run.job, made.version)
        return run.say(change.conclude(run.platform, change.of_run(run.platform, run.job, run.author), run.author))


@dag(
    dag_id="rescale_stream",
    dag_display_name="Rescale a stream job",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["lifecycle", "stream"],
    params=form(RescaleRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def rescale_stream() -> None:
    held, given = bracket(rescale.VERB)
    planned: Any = plan()
    chosen, done, begun = choose(planned), conclude(planned), begin(planned)
    standby = change_tasks.standby.override(task_id=RescaleStep.STANDBY)(rescale.VERB)
    hold = change_tasks.hold.override(task_id=RescaleStep.HOLD)(rescale.VERB)
    repartition = FiniteSparkOperator(task_id=RescaleStep.REPARTITION, verb=rescale.VERB, program=Program.REPARTITION)
    switch = change_tasks.switch.override(
        task_id=RescaleStep.SWITCH, trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS
    )(rescale.VERB)
    launch = change_tasks.launch.override(task_id=RescaleStep.LAUNCH)(rescale.VERB)
    ready = change_tasks.ready.override(task_id=RescaleStep.READY)(rescale.VERB)
    held >> planned >> chosen >> done >> given
    chosen >> begun >> [standby, repartition]
    standby >> hold
    [hold, repartition] >> switch >> launch >> ready >> done
    [standby, hold, repartition, switch, launch, ready] >> change_tasks.settle(rescale.VERB) >> given


rescale_stream()
