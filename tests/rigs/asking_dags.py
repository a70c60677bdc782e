"""Two DAGs that only ask whether a replay may be promoted, for the rig `asking_airflow`: there their runs are real."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import uuid4

import psycopg
from airflow.sdk import Param, dag, task

from kappa.airflow.approval import AskOperator
from kappa.airflow.task_context import DEFAULTS, conducting

VERB = "reprocess"
PASSED = {
    "success": True,
    "crashed": False,
    "compared_rows": 12,
    "folder": "validations/x",
    "statistics": {"expectations": 9, "passed": 9, "blocking": 0, "warnings": 0},
    "comparisons": [],
    "results": [],
}
STAGE = """
insert into registry.replay (replay_id, run_id, versions, live, parity, bands, approval, promote, asked_by, price,
                             validation)
values (%s, %s, '{"asked": 2}', '{"asked": 1}', 'exact', '[]', 'ask', true, %s, '{"records": 5}', %s)
"""


@task
def stage() -> None:
    """A replay that passed its validation, asked for by who started the run, as the registry has it."""
    with conducting(VERB) as run:
        settings, by = run.platform.settings, run.author
        with psycopg.connect(settings.dsn("kappa_registry")) as connection:
            connection.execute(STAGE, [uuid4(), by.run_id, by.actor, json.dumps(PASSED)])


@task
def promote() -> None:
    """Where an approval leads to."""


def asking(dag_id: str, seconds: float) -> None:
    """A DAG whose question stays open for so long."""

    @dag(
        dag_id=dag_id,
        schedule=None,
        params={"job": Param("asked"), "dry_run": Param(False), "reason": Param(None, type=["null", "string"])},
        default_args=dict(DEFAULTS),
        is_paused_upon_creation=False,
    )
    def made() -> None:
        question = AskOperator(task_id="approve", verb=VERB, response_timeout=timedelta(seconds=seconds))
        stage() >> question >> promote()

    made()


asking("asks", 3600)
asking("asks_briefly", 5)
