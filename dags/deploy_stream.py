"""Deploy a stream job: plan it, stage a version, start its driver once, wait until it works, let it serve.

The run ends when the stream is ready, not when it ends; every step may be killed and repeated. A second run
of the same changes nothing. A change of results or state is refused, with the command that replays the log
instead. A dry run prints the plan in the log of the task `plan` and changes nothing.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import TriggerRule, dag, task
from kappa.operators import form
from kappa.operators.conduct import DEFAULTS, RUN_SECONDS, conducting
from kappa.plans.deploy import DeployPlan, refuse_if_refused
from kappa.steps import deploy
from kappa.steps.observe import plan_deploy

Json = dict[str, Any]


@task
def plan() -> Json:
    with conducting(deploy.VERB) as run:
        if not run.params["dry_run"]:
            run.platform.registry.begin(deploy.VERB, run.job, run.author, RUN_SECONDS)
        planned = plan_deploy(run.platform, form.deploy_request(run.params))
        print("\n".join(f"{name}: {value}" for name, value in planned.rows()))
        refuse_if_refused(planned)
        return planned.to_json()


@task.short_circuit(ignore_downstream_trigger_rules=False)
def unless_dry_run() -> bool:
    with conducting(deploy.VERB) as run:
        return not run.params["dry_run"]


@task
def stage(planned: Json) -> None:
    with conducting(deploy.VERB) as run:
        deploy.supersede(run.platform, DeployPlan.from_json(planned), run.author)
        deploy.stage(run.platform, DeployPlan.from_json(planned), run.author)


@task
def launch(planned: Json) -> None:
    with conducting(deploy.VERB) as run:
        deploy.start(run.platform, DeployPlan.from_json(planned), run.author)


@task
def ready(planned: Json) -> None:
    with conducting(deploy.VERB) as run:
        deploy.ready(run.platform, DeployPlan.from_json(planned))


@task
def live(planned: Json) -> None:
    with conducting(deploy.VERB) as run:
        deploy.live(run.platform, DeployPlan.from_json(planned), run.author)


@task(trigger_rule=TriggerRule.NONE_FAILED)
def conclude(planned: Json) -> str:
    with conducting(deploy.VERB) as run:
        if run.params["dry_run"]:
            return deploy.dry_sentence(DeployPlan.from_json(planned))
        return deploy.conclude(run.platform, DeployPlan.from_json(planned), run.author)


@dag(
    dag_id="deploy_stream",
    dag_display_name="Deploy a stream job",
    schedule=None,
    max_active_runs=8,
    dagrun_timeout=timedelta(seconds=RUN_SECONDS),
    tags=["lifecycle", "stream"],
    params=form.deploy(),
    default_args=dict(DEFAULTS),
    doc_md=__doc__,
    is_paused_upon_creation=False,
)
def deploy_stream() -> None:
    planned: Any = plan()
    steps = [stage(planned), launch(planned), ready(planned), live(planned), conclude(planned)]
    planned >> unless_dry_run() >> steps[0] >> steps[1] >> steps[2] >> steps[3] >> steps[4]


deploy_stream()
