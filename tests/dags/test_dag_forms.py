"""The forms of the DAGs: what each shows, and what it refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import ParamValidationError

from kappa.core.job_catalog import JOBS
from tests.dags.conftest import IDS, LEASED, MOVES

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
    "validate_live": ["hours", "reason", "dry_run"],
}


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
        ("validate_live", "hours", 0), ("validate_live", "hours", 169),
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
