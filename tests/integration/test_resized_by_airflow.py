"""A policy in the settings lets Airflow resize a job that falls behind, once, as the advice says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kappa.airflow_api import Airflow
from kappa.airflow_sign_in import embedded
from kappa.core.verb_steps import Verb
from stack.services.passwords import PERSON
from tests.integration.beside import load
from tests.integration.injected import changed
from tests.rigs.running_stack import CADENCE_MS, Stack

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=16)]
JOB, CORES = "ad_ctr", 2
RUNS = f"/api/v2/dags/{Verb.AUTOSCALE.dag_id}/dagRuns"
SLOW_SECONDS = CADENCE_MS // 1000 + 1
BUSY_SECONDS = 1_000.0
POLICY = "[autoscaling]\nenabled = true\ncool_down_minutes = 60\n"
SLOW = f"""
create function registry.slow() returns trigger language plpgsql as
$$ begin perform pg_sleep({SLOW_SECONDS}); return new; end $$;
create trigger slow before insert on registry.batch for each row when (new.job = '{JOB}')
execute function registry.slow()
"""
"""Each batch takes longer than is left to fixed costs, and than the cadence."""
AS_BEFORE = "drop trigger slow on registry.batch; drop function registry.slow()"


@pytest.fixture
def permitted(deployed: Stack) -> Iterator[Stack]:
    """The stack, whose policy lets Airflow act."""
    file = deployed.settings.home.parent / "kappa.toml"
    before, (cores,) = file.read_text(), _cores(deployed)
    file.write_text(before + POLICY)
    try:
        yield deployed
    finally:
        file.write_text(before)
        deployed.kappa("rescale", JOB, "--cores", str(cores), "--reason", "test")


def test_a_job_whose_batches_follow_without_a_pause_gets_cores_once(permitted: Stack) -> None:
    stack = permitted
    with load(stack, 93, rate=50):
        with changed(stack, SLOW, AS_BEFORE):
            stack.until("more cores are advised", lambda: _is_advised(stack), BUSY_SECONDS)
            _run(stack)
            stack.until("it was asked for", lambda: len(_asked(stack)) == 1)
        stack.until("it runs so", lambda: _cores(stack) == [CORES], 600)
        before = len(_states(stack))
        _run(stack)
        stack.until("a second run has ended", lambda: _states(stack)[before:] == ["success"])
    (sentence,) = _asked(stack)
    print(sentence)
    assert "batches follow one another without a pause for 10 min: more cores would help" in sentence
    stack.reconcile()


def _is_advised(stack: Stack) -> bool:
    return f"./kappa rescale {JOB} --cores {CORES}" in stack.kappa("status", expect=None).out


def _cores(stack: Stack) -> list[int]:
    query = "select (settings ->> 'executor_cores')::integer from ops.versions where job = %s and state = 'LIVE'"
    return [cores for (cores,) in stack.query(query, JOB)]


def _asked(stack: Stack) -> list[str]:
    query = "select evidence ->> 'sentence' from ops.audit where action = 'autoscale.asked' and job = %s"
    return [sentence for (sentence,) in stack.query(query, JOB)]


def _run(stack: Stack) -> None:
    """Have the advice carried out now, instead of within ten minutes."""
    _airflow(stack).ask("to run a DAG", "POST", RUNS, {"logical_date": None})


def _states(stack: Stack) -> list[str]:
    """Of the DAG's runs that were not scheduled, the oldest first."""
    runs = _airflow(stack).ask("to list runs", "GET", f"{RUNS}?run_type=manual&order_by=run_after")
    return [run["state"] for run in runs["dag_runs"]]


def _airflow(stack: Stack) -> Airflow:
    return Airflow(embedded(stack.settings, PERSON))
