"""The DAGs as Airflow finds them: which there are, what each must carry, and which forms they refuse."""

from __future__ import annotations

import copy
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization

DAGS = Path(__file__).resolve().parents[2] / "dags"
IDS = {"deploy_stream", "stop_stream"}


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
    assert dag.schedule is None
    assert dag.max_active_runs == 8
    assert all(task.owner == "kappa-ads" for task in dag.tasks)


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_every_task_retries_and_ends(bag: DagBag, dag_id: str) -> None:
    dag = bag.dags[dag_id]
    assert dag.tasks
    for task in dag.tasks:
        assert task.retries == 3
        assert task.retry_policy is not None
        assert task.execution_timeout == timedelta(minutes=7)
    assert dag.dagrun_timeout == timedelta(minutes=15)


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_every_field_of_a_form_has_a_title_and_a_description(bag: DagBag, dag_id: str) -> None:
    params = bag.dags[dag_id].params
    assert {"job", "reason", "dry_run"} <= set(params)
    for name in params:
        field = params.get_param(name)
        assert field.schema.get("title"), name
        assert field.description, name


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_a_dag_survives_serialisation(bag: DagBag, dag_id: str) -> None:
    restored = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(bag.dags[dag_id]))
    assert set(restored.task_ids) == {task.task_id for task in bag.dags[dag_id].tasks}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("job", "no_such_job"), ("start", "yesterday"), ("start", "2026-01-31T09:30"),
        ("start", "2026-01-31T09:30:05Z"), ("artifact", "../x"), ("settings", 5), ("dry_run", "perhaps"),
    ],
)  # fmt: skip
def test_deploy_refuses_what_is_no_valid_form(bag: DagBag, name: str, value: Any) -> None:
    params = copy.deepcopy(bag.dags["deploy_stream"].params)
    with pytest.raises(ParamValidationError):
        params[name] = value


def test_deploy_does_its_steps_in_the_order_of_the_plan(bag: DagBag) -> None:
    order = ["plan", "unless_dry_run", "stage", "launch", "ready", "live", "conclude"]
    dag = bag.dags["deploy_stream"]
    for earlier, later in pairwise(order):
        assert later in dag.get_task(earlier).downstream_task_ids
