"""The lease of a run, as setup and teardown of its DAG: cleared with any task that stands between them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from airflow.sdk import get_current_context, task
from airflow.sdk.exceptions import AirflowRuntimeError

from kappa.airflow.task_context import LONG_TIMEOUT, RUN_TIMEOUT, WAIT_SECONDS, conducting
from kappa.core.audit import is_in_place
from kappa.core.requests.lifecycle import WhenHeld
from kappa.core.verb_steps import Verb
from kappa.core.versions import Lease
from kappa.verbs import lease as leasing

ENDED = frozenset({"success", "failed"})


@task(execution_timeout=LONG_TIMEOUT)
def lease(verb: str) -> int | None:
    """Hold the job's version for this run; the number of that version, None for a dry run. Raises UnderWay."""
    with conducting(verb) as run:
        if run.dry_run:
            return None
        waits = WAIT_SECONDS if run.params["when_held"] == WhenHeld.WAIT else 0
        seconds = RUN_TIMEOUT.total_seconds()
        held = leasing.take(run.platform, verb, run.job, run.author, seconds, waits, is_over)
        print(held.sentence())
        return held.version


@task
def release(verb: str) -> None:
    """Give back what the run holds."""
    with conducting(verb) as run:
        leasing.release(run.platform, run.author)


def bracket(verb: str) -> tuple[Any, Any]:
    """The lease and its release as setup and teardown of the DAG that is being made."""
    held: Any = lease(verb).as_setup()
    return held, release(verb).as_teardown(setups=held)


def is_over(held: Lease) -> bool:
    """Whether the run that holds a lease has ended, or was deleted. A command in place holds its lease until the
    lease's own end, and so does a run of which Airflow cannot say."""
    if is_in_place(held.run_id):
        return False
    context: Any = get_current_context()
    try:
        state = context["ti"].get_dagrun_state(Verb(held.verb).dag_id, held.run_id)
    except AirflowRuntimeError as error:
        return (error.error.detail or {}).get("status_code") == HTTPStatus.NOT_FOUND
    return state in ENDED
