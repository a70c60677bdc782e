"""The DAGs as Airflow finds them: which there are, and what each must carry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import TriggerRule
from airflow.serialization.serialized_objects import DagSerialization

from kappa.airflow import assets, spark_program
from kappa.core.installation.needs import FINITE_CORES
from kappa.core.verb_steps import AROUND, DeployStep, MoveStep, ReplayStep, RescaleStep, Step, StopStep
from kappa.verbs.deploy import plan as deploy
from stack.services.airflow_connections import SPARK_LOCAL
from tests.dags.conftest import ALONE, IDS, LEASED, MOVES, REPLAYS

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
def test_a_dag_survives_serialisation(bag: DagBag, dag_id: str) -> None:
    restored = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(bag.dags[dag_id]))
    assert set(restored.task_ids) == {task.task_id for task in bag.dags[dag_id].tasks}


@pytest.mark.parametrize("dag_id", sorted(IDS - (ALONE - {"repair_stream"})))
def test_whoever_concludes_may_say_that_a_job_was_changed(bag: DagBag, dag_id: str) -> None:
    assert bag.dags[dag_id].get_task("conclude").outlets == [assets.CHANGED]


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


@pytest.mark.parametrize(
    ("dag_id", "first"), [("repair_stream", "12:30"), ("validate_live", "12:35"), ("retire_versions", "13:05")]
)
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


def test_what_serves_is_validated_every_hour_unless_somebody_switches_it_off(bag: DagBag) -> None:
    dag = bag.dags["validate_live"]
    assert dag.is_paused_upon_creation is False
    assert (dag.max_active_runs, dag.catchup) == (1, False)
    assert dag.task_ids == ["look"]
    assert dag.params.validate() == {"hours": 3, "reason": None, "dry_run": False}
