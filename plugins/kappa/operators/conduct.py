"""How a lifecycle task conducts itself: its stack, its author, what is retried, and what a failure leaves
behind."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import get_current_context
from airflow.sdk.definitions.retry_policy import ExceptionRetryPolicy, RetryAction, RetryRule

from jobs.refusals import Refusal
from jobs.settings import from_environment
from kappa.hooks.reach import Unreachable
from kappa.hooks.registry import Author, Entry
from kappa.ports import Platform, connect

CHECKOUT = Path(__file__).resolve().parents[3]
OWNER = "kappa-ads"
RUN_SECONDS = 15 * 60
"""The longest that a run may take, and so the longest that it holds its job."""
STEP_TIMEOUT = timedelta(minutes=7)

RETRIES = ExceptionRetryPolicy(
    rules=[
        RetryRule(exception=Unreachable, action=RetryAction.RETRY, reason="a part of the stack does not answer"),
        RetryRule(exception=Refusal, action=RetryAction.FAIL, reason="refused; another try would be, too"),
    ]
)
DEFAULTS: Mapping[str, Any] = {
    "owner": OWNER,
    "retries": 3,
    "retry_delay": timedelta(seconds=5),
    "retry_policy": RETRIES,
    "execution_timeout": STEP_TIMEOUT,
}
"""Default arguments of every lifecycle task."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Conduct:
    """One task of a run: its ports, author and the form as it was filled in."""

    platform: Platform
    author: Author
    params: Mapping[str, Any]
    job: str
    last_try: bool


@contextmanager
def conducting(verb: str) -> Iterator[Conduct]:
    """The conduct of the running task; a refusal or the last failure is written to the audit, then goes on
    up."""
    conduct = _conduct()
    try:
        yield conduct
    except Unreachable:
        raise
    except Refusal as refusal:
        _leave_word(conduct, f"{verb}.refused", str(refusal))
        raise
    except Exception as error:
        if conduct.last_try:
            _leave_word(conduct, f"{verb}.failed", f"{type(error).__name__}: {error}")
        raise


def _conduct() -> Conduct:
    context = get_current_context()
    run, task, params = context["dag_run"], context["ti"], context["params"]
    actor = getattr(run, "triggering_user_name", None) or "airflow"
    author = Author(actor, run.run_id, params.get("reason") or None)
    platform = connect(from_environment(CHECKOUT))
    return Conduct(platform, author, params, params["job"], task.try_number > task.max_tries)


def _leave_word(conduct: Conduct, action: str, sentence: str) -> None:
    """Write why the run ends where the command line looks for it."""
    log.error("%s: %s", action, sentence)
    conduct.platform.registry.record(Entry(conduct.author, action, conduct.job, evidence={"sentence": sentence}))
