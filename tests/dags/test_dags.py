"""The DAGs as Airflow finds them: which there are, what each must carry, and which forms they refuse."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import TriggerRule
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization

from kappa.airflow import assets, spark_program
from kappa.core.installation.needs import FINITE_CORES
from kappa.core.job_catalog import JOBS
from kappa.core.verb_steps import AROUND, DeployStep, MoveStep, ReplayStep, RescaleStep, Step, StopStep
from kappa.verbs.deploy import plan as deploy
from stack.services.airflow_connections import SPARK_LOCAL

DAGS = Path(__file__).resolve().parents[2] / "dags"
LEASED = {"deploy_stream", "rescale_stream", "stop_stream"}
REPLAYS = {"reprocess_stream", "prove_replay"}
MOVES = {"promote_stream", "rollback_stream"}
IDS = LEASED | REPLAYS | MOVES | {"repair_stream", "autoscale_stream", "retire_versions", "check_installation"}
EVERYDAY = {
    "deploy_stream": ["job", "start", "artifact", "reason", "dry_run"],
    "rescale_stream": ["job", "partitions", "cores", "executors", "reason", "dry_run"],
    "stop_stream": ["job", "reason", "dry_run"],
    "repair_stream": ["job", "reason", "dry_run"],
    "autoscale_stream": ["reason", "dry_run"],
    "reprocess_stream": [
        "jobs",
        "start",
        "artifact",
        "parity",
        "bands",
        "approval",
        "cores",
        "rate",
        "reason",
        "dry_run",
    ],
    "prove_replay": ["jobs", "minutes", "promote", "cores", "rate", "reason", "dry_run"],
    "promote_stream": ["jobs", "reason", "dry_run"],
    "rollback_stream": ["jobs", "reason", "dry_run"],
    "retire_versions": ["job", "version", "reason", "dry_run"],
    "check_installation": [],
}
STEPS: dict[str, type[Step]] = {
    "deploy_stream": DeployStep,
    "stop_stream": StopStep,
    "rescale_stream": RescaleStep,
    "reprocess_stream": ReplayStep,
    "prove_replay": ReplayStep,
    "promote_stream": MoveStep,
    "rollback_stream": MoveStep,
}
BESIDE = {(RescaleStep.HOLD, RescaleStep.REPARTITION)}
"""Steps that are prepared side by side."""


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(str(DAGS), safe_mode=False)


def test_the_bag_holds_exactly_the_expected_dags(bag: DagBag) -> None:
    assert bag.import_errors == {}
    assert set(bag.dags) == IDS


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_a_dag_says_whose_it_is_and_what_it_does(bag: DagBag, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    assert dag.tags
    assert dag.doc_md
    assert dag.access_control is None, "who may do what is for the roles to say, and FAB refuses one that it lacks"
    assert all(task.owner == "kappa-ads" for task in dag.tasks)


@pytest.mark.parametrize("dag_id", sorted(LEASED | MOVES | {"reprocess_stream"}))
def test_a_verb_runs_when_asked_and_for_several_jobs_at_once(bag: DagBag, dag_id: str) -> None:
    assert bag.dags[dag_id].schedule is None
    assert bag.dags[dag_id].max_active_runs == 8


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_every_task_retries_and_ends(bag: DagBag, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    assert dag.tasks
    assert dag.dagrun_timeout == (timedelta(hours=72) if dag_id in REPLAYS | MOVES else timedelta(minutes=20))
    for task in dag.tasks:
        assert task.retries == 3
        assert task.retry_policy is not None
        assert task.execution_timeout is not None
        assert task.execution_timeout <= timedelta(minutes=20)


@pytest.mark.parametrize("dag_id", sorted(LEASED))
def test_the_lease_is_taken_first_and_given_back_whatever_happens(bag: DagBag, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    assert dag.get_task("lease").is_setup
    assert dag.get_task("release").is_teardown
    assert dag.roots == [dag.get_task("lease")]
    assert dag.leaves == [dag.get_task("release")]
    assert "lease" in dag.get_task("release").upstream_task_ids
    assert dag.get_task("release").trigger_rule == TriggerRule.ALL_DONE_SETUP_SUCCESS


@pytest.mark.parametrize("dag_id", ["deploy_stream", "rescale_stream"])
def test_what_a_failure_left_half_done_is_settled_before_the_lease_is_given_back(bag: DagBag, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    settle = dag.get_task("settle")
    acts = {"standby", "hold", "switch"} | {
        task.task_id for task in dag.tasks if isinstance(task, spark_program.FiniteSparkOperator)
    }
    assert settle.trigger_rule == TriggerRule.ONE_FAILED
    assert acts < settle.upstream_task_ids
    assert settle.downstream_task_ids == {"release"}


@pytest.mark.parametrize("dag_id", ["deploy_stream", "rescale_stream"])
def test_a_settled_failure_stays_a_failed_run(bag: DagBag, dag_id: str) -> None:
    """A run ends as its last tasks before the teardown do: `conclude`, which a failure before it fails, must be one."""
    assert bag.dags[dag_id].get_task("conclude").downstream_task_ids == {"release"}


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_every_field_of_a_form_has_a_title_and_a_description(bag: DagBag, dag_id: str) -> None:
    params = bag.dags[dag_id].params
    for name in params:
        field = params.get_param(name)
        assert field.schema.get("title"), name
        assert field.description, name


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_a_form_opens_with_its_everyday_fields_in_sight(bag: DagBag, dag_id: str) -> None:
    params = bag.dags[dag_id].params
    in_sight = [name for name in params if not params.get_param(name).schema.get("section")]
    assert in_sight == EVERYDAY[dag_id]
    folded = {"when_held"} if dag_id in LEASED | MOVES | {"reprocess_stream"} else set()
    settings = {setting.name for job in JOBS.values() for setting in job.settings}
    assert set(params) - set(in_sight) == folded | (
        settings if dag_id in {"deploy_stream", "reprocess_stream"} else set()
    )


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_a_dag_survives_serialisation(bag: DagBag, dag_id: str) -> None:
    restored = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(bag.dags[dag_id]))
    assert set(restored.task_ids) == {task.task_id for task in bag.dags[dag_id].tasks}


@pytest.mark.parametrize("dag_id", sorted(IDS - {"retire_versions", "check_installation", "autoscale_stream"}))
def test_whoever_concludes_may_say_that_a_job_was_changed(bag: DagBag, dag_id: str) -> None:
    assert bag.dags[dag_id].get_task("conclude").outlets == [assets.CHANGED]


@pytest.mark.parametrize(
    ("dag_id", "name", "value"),
    [
        ("deploy_stream", "job", "no_such_job"), ("deploy_stream", "start", "yesterday"),
        ("deploy_stream", "start", "2026-01-31T09:30"), ("deploy_stream", "start", "2026-01-31T09:30:05Z"),
        ("deploy_stream", "artifact", "../x"), ("deploy_stream", "cadence_ms", 60_001),
        ("deploy_stream", "cadence_ms", "fast"),
        ("deploy_stream", "dry_run", "perhaps"), ("deploy_stream", "when_held", "never"),
        ("rescale_stream", "partitions", 0), ("rescale_stream", "partitions", 65),
        ("rescale_stream", "partitions", 2.5), ("rescale_stream", "cores", "two"), ("rescale_stream", "job", None),
        ("reprocess_stream", "jobs", []), ("reprocess_stream", "jobs", ["no_such_job"]),
        ("reprocess_stream", "jobs", "ad_ctr"), ("reprocess_stream", "jobs", ["ad_ctr", "ad_ctr"]),
        ("reprocess_stream", "start", "latest"), ("reprocess_stream", "parity", "roughly"),
        ("reprocess_stream", "bands", ["clicks"]), ("reprocess_stream", "approval", "never"),
        ("reprocess_stream", "rate", 0), ("reprocess_stream", "cores", 0), ("prove_replay", "minutes", 0),
        ("prove_replay", "promote", "yes"), ("promote_stream", "jobs", []), ("rollback_stream", "when_held", None),
        ("retire_versions", "version", 0), ("retire_versions", "job", "no_such_job"),
        ("stop_stream", "job", ""), ("stop_stream", "when_held", None), ("repair_stream", "job", "no_such_job"),
    ],
)  # fmt: skip
def test_what_is_no_valid_form_is_refused(bag: DagBag, dag_id: str, name: str, value: Any) -> None:
    params = copy.deepcopy(bag.dags[dag_id].params)
    with pytest.raises(ParamValidationError):
        params[name] = value


def test_a_rescale_may_leave_either_number_as_it_is(bag: DagBag) -> None:
    params = copy.deepcopy(bag.dags["rescale_stream"].params)
    params["partitions"], params["cores"] = 3, None
    assert params.validate()["partitions"] == 3


@pytest.mark.parametrize(("dag_id", "steps"), STEPS.items())
def test_the_tasks_of_a_verb_are_its_steps(bag: DagBag, dag_id: str, steps: type[Step]) -> None:
    assert set(bag.dags[dag_id].task_ids) - set(AROUND) == set(steps)


@pytest.mark.parametrize(
    ("dag_id", "steps"),
    [
        *(("deploy_stream", deploy.STEPS[action]) for action in deploy.Action),
        *((dag_id, tuple(steps)) for dag_id, steps in STEPS.items() if steps is not DeployStep),
    ],
)
def test_the_steps_are_done_in_the_order_of_the_plan(bag: DagBag, dag_id: str, steps: tuple[Step, ...]) -> None:
    dag = bag.dags[dag_id]
    for earlier, later in pairwise([*steps, "conclude"] if steps else ["choose", "conclude"]):
        if (earlier, later) not in BESIDE:
            assert later in dag.get_task(earlier).get_flat_relative_ids(upstream=False)


def test_the_first_step_of_a_plan_is_chosen_and_what_it_leaves_out_is_skipped(bag: DagBag) -> None:
    dag = bag.dags["deploy_stream"]
    firsts = {steps[0] for steps in deploy.STEPS.values() if steps}
    assert dag.get_task("choose").downstream_task_ids == {*firsts, "conclude"}
    assert dag.get_task(DeployStep.LAUNCH).trigger_rule == TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS


@pytest.mark.parametrize("dag_id", ["deploy_stream", "stop_stream", "rescale_stream", *sorted(REPLAYS | MOVES)])
def test_nothing_to_do_goes_straight_to_the_end(bag: DagBag, dag_id: str) -> None:
    conclude = bag.dags[dag_id].get_task("conclude")
    assert "choose" in conclude.upstream_task_ids
    assert conclude.trigger_rule == TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS


def test_the_repartition_warms_up_while_the_stream_still_runs(bag: DagBag) -> None:
    dag = bag.dags["rescale_stream"]
    assert {"standby", "repartition"} <= dag.get_task("begin").downstream_task_ids
    assert "repartition" not in dag.get_task("hold").upstream_task_ids
    switch = dag.get_task("switch")
    assert switch.upstream_task_ids == {"hold", "repartition"}
    assert switch.trigger_rule == TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS, "cores alone skip the repartition"


@pytest.mark.parametrize(("dag_id", "task_id"), [("deploy_stream", "trial"), ("rescale_stream", "repartition")])
def test_finite_spark_work_takes_as_many_slots_as_its_master_has_cores(bag: DagBag, dag_id: str, task_id: str) -> None:
    task = bag.dags[dag_id].get_task(task_id)
    assert (task.pool, task.pool_slots) == ("spark_cores", FINITE_CORES)
    assert SPARK_LOCAL["host"] == f"local[{task.pool_slots}]"


@pytest.mark.parametrize(("dag_id", "first"), [("repair_stream", "12:30"), ("retire_versions", "13:05")])
def test_a_stack_that_is_new_waits_for_the_next_time_of_a_schedule(
    bag: DagBag, monkeypatch: pytest.MonkeyPatch, dag_id: str, first: str
) -> None:
    """Its first deployment has the processors for itself."""
    dag = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(bag.dags[dag_id]))
    monkeypatch.setattr("airflow.timetables.trigger.utcnow", lambda: datetime(2026, 1, 31, 12, 22, tzinfo=UTC))
    info = dag.timetable.next_dagrun_info(last_automated_data_interval=None, restriction=dag._time_restriction)
    assert info is not None
    assert info.run_after.strftime("%H:%M") == first


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_nobody_is_offered_to_run_a_schedule_for_days_gone_by(bag: DagBag, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    assert dag.schedule is None or (dag.allowed_run_types and "backfill" not in dag.allowed_run_types)


def test_repair_runs_on_incidents_and_every_quarter_of_an_hour(bag: DagBag) -> None:
    dag = bag.dags["repair_stream"]
    assert dag.max_active_runs == 1
    assert dag.catchup is False
    schedule: Any = dag.timetable
    assert schedule.timetable.expression == "*/15 * * * *"
    [incidents] = schedule.asset_condition.objects
    assert (incidents.name, [watcher.name for watcher in incidents.watchers]) == ("stream_incidents", ["incidents"])
    assert dag.params.validate() == {"job": None, "reason": None, "dry_run": False}
