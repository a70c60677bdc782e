"""The DAG of the examples is one that Airflow reads, and what it asks for is a form that the verb takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tests.rigs.airflow_home  # noqa: F401  # isort: skip
import pytest
from airflow.dag_processing.dagbag import DagBag

from examples.dags import busy_hours
from kappa.core.job_catalog import find, resolve
from kappa.core.requests.fields import read
from kappa.core.requests.lifecycle import RescaleRequest


@pytest.fixture(scope="module")
def bag() -> DagBag:
    assert busy_hours.__file__ is not None
    return DagBag(str(Path(busy_hours.__file__)))


def test_airflow_finds_a_paused_dag_for_each_time_of_day(bag: DagBag) -> None:
    assert bag.import_errors == {}
    assert set(bag.dags) == set(busy_hours.HOURS) == {"busy_hours", "quiet_hours"}
    assert all(dag.is_paused_upon_creation for dag in bag.dags.values())


def test_what_it_asks_for_is_a_form_of_the_verb(bag: DagBag) -> None:
    asked: dict[str, Any] = {name: dag.get_task("rescale") for name, dag in bag.dags.items()}
    requests = {name: read(RescaleRequest, task.conf) for name, task in asked.items()}
    assert {task.trigger_dag_id for task in asked.values()} == {RescaleRequest.verb.dag_id}
    assert {name: (r.job, r.cores, r.reason) for name, r in requests.items()} == {
        "busy_hours": ("ad_ctr", 2, "busy hours"),
        "quiet_hours": ("ad_ctr", 1, "quiet hours"),
    }
    for request in requests.values():
        resolve(find(request.job), request.numbers)
