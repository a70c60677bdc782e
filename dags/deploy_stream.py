"""Deploy a stream job: a first version is staged, started and serves; a running one is changed in place.

In place, the new code is tried on a copy of the checkpoint and its driver is started and warmed, both beside the old
driver; then the old one finishes its batch and ends, the new one goes on, and where it does not become ready the old
one runs again. The run ends when the stream is ready, not when it ends; every step may be killed and repeated. A second
run of the same changes nothing. A change of results or state is refused, with the command that replays the log instead.
A dry run prints the plan in the log of `plan`.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import TriggerRule, dag, task

from kappa.airflow import change_tasks
from kappa.airflow.assets import CHANGED, announce
from kappa.airflow.forms import form
from kappa.airflow.lease_tasks import bracket
from kappa.airflow.spark_program import FiniteSparkOperator
from kappa.airflow.task_context import DEFAULTS, RUN_TIMEOUT, Conduct, acting, conducting
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.verb_steps import DeployStep
from kappa.verbs.change import steps as change
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.deploy.plan import Action, DeployPlan, refuse_if_refused
from kappa.verbs.drivers.finite_program import Program

Json = dict[str, Any]


@task
def plan() -> Json:
    with conducting(deploy.VERB) as run:
        planned = plan_deploy(run.platform, read(DeployRequest, run.params))
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        refuse_if_refused(planned)
        return planned.to_json()


@task.branch
def choose(planned: Json) -> str:
    with conducting(deploy.VERB) as run:
        return run.first_of(DeployPlan.from_json(planned).steps)


def _held(run: Conduct, planned: Json) -> DeployPlan:
    """The plan, of a version that the run holds. Raises NoLease, NotHolder."""
    made = DeployPlan.from_json(planned)
    run.check_lease(*made.leased)
    return made


@task(task_id=DeployStep.STAGE)
def stage(planned: Json) -> None:
    with acting(deploy.VERB) as run:
        deploy.stage(run.platform, _held(run, planned), run.author)


@task(task_id=DeployStep.LAUNCH, trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS)
def launch(planned: Json) -> None:
    with acting(deploy.VERB) as run:
        deploy.start(run.platform, _held(run, planned), run.author)


@task(task_id=DeployStep.READY)
def ready(planned: Json) -> None:
    with acting(deploy.VERB) as run:
        deploy.ready(run.platform, _held(run, planned))


@task(task_id=DeployStep.LIVE)
def live(planned: Json) -> None:
    with acting(deploy.VERB) as run:
        deploy.live(run.platform, _held(run, planned), run.author)


@task(task_id=DeployStep.BEGIN)
def begin(planned: Json) -> None:
    with acting(deploy.VERB) as run:
        deploy.begin_change(run.platform, _held(run, planned), run.author)


@task(trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS, outlets=[CHANGED])
def conclude(planned: Json) -> str:
    with conducting(deploy.VERB) as run:
        made = DeployPlan.from_json(planned)
        if run.dry_run:
            return run.say(deploy.dry_sentence(made))
        run.check_lease(*made.leased)
        if made.action is not Action.UNCHANGED:
            announce(deploy.VERB, run.job, made.version)
        if made.action is Action.IN_PLACE:
            return run.say(change.conclude(run.platform, change.of_run(run.platform, run.job, run.author), run.author))
        return run.say(deploy.conclude(run.platform, made, run.author))


@dag(
    dag_id="deploy_stream",
    dag_display_name="Deploy a stream job",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=RUN_TIMEOUT,
    tags=["lifecycle", "stream"],
    params=form(DeployRequest),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def deploy_stream() -> None:
    held, given = bracket(deploy.VERB)
    planned: Any = plan()
    chosen, done = choose(planned), conclude(planned)
    trial = FiniteSparkOperator(task_id=DeployStep.TRIAL, verb=deploy.VERB, program=Program.TRIAL)
    standby = change_tasks.standby.override(task_id=DeployStep.STANDBY)(deploy.VERB)
    hold = change_tasks.hold.override(task_id=DeployStep.HOLD)(deploy.VERB)
    switch = change_tasks.switch.override(task_id=DeployStep.SWITCH)(deploy.VERB)
    launch_new = change_tasks.launch.override(task_id=DeployStep.LAUNCH_NEW)(deploy.VERB)
    ready_new = change_tasks.ready.override(task_id=DeployStep.READY_NEW)(deploy.VERB)
    staged, launched = stage(planned), launch(planned)
    held >> planned >> chosen >> done >> given
    chosen >> [staged, launched]
    staged >> launched >> ready(planned) >> live(planned) >> done
    chosen >> begin(planned) >> trial >> standby >> hold >> switch >> launch_new >> ready_new >> done
    [trial, standby, hold, switch, launch_new, ready_new] >> change_tasks.settle(deploy.VERB) >> given


deploy_stream()
