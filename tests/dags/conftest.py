"""The DAGs as Airflow finds them; its home is a throw-away folder, named before Airflow is first imported."""

from __future__ import annotations

import tests.rigs.airflow_home  # noqa: F401

# isort: split
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

DAGS = Path(__file__).resolve().parents[2] / "dags"
LEASED = {"deploy_stream", "rescale_stream", "stop_stream"}
REPLAYS = {"reprocess_stream", "prove_replay"}
MOVES = {"promote_stream", "rollback_stream"}
ALONE = {"repair_stream", "autoscale_stream", "retire_versions", "check_installation", "validate_live"}
IDS = LEASED | REPLAYS | MOVES | ALONE


@pytest.fixture(scope="session")
def bag() -> DagBag:
    return DagBag(str(DAGS), safe_mode=False)
