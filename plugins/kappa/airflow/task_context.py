"""How a lifecycle task conducts itself: its stack, its author, the lease it needs, what is retried, and what a failure
leaves behind."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import get_current_context
from airflow.sdk.definitions.retry_policy import ExceptionRetryPolicy, RetryAction, RetryRule
from airflow.sdk.exceptions import AirflowSkipException

from kappa.airflow import run_note
from kappa.airflow.installation import own_settings
from kappa.airflow_api import Run
from kappa.core.audit import Author, Entry
from kappa.core.installation.no_registry import NoRegistry
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import CONCLUDE, Step
from kappa.platform import Platform, connect
from kappa.unavailable import Unreachable
from kappa.verbs import lease

OWNER = "kappa-ads"
RUN_SECONDS = 15 * 60
"""The longest that a run may take, waiting for others apart, and so the longest that it holds its version."""
WAIT_SECONDS = 5 * 60
"""The longest that a run waits for another one to give its version back."""
RUN_TIMEOUT = timedelta(seconds=RUN_SECONDS + WAIT_SECONDS)
STEP_TIMEOUT = timedelta(minutes=7)
REPLAY_TIMEOUT = timedelta(hours=72)
"""The longest that a run may take that lets versions catch up and then asks somebody; it holds these versions only."""
LONG_TIMEOUT = timedelta(minutes=14)
"""For what may wait twice, as for a new driver and then the old one again, and for work that grows with the state."""
LEASE_TASK = "lease"
NO_BACKFILL: Any = ("scheduled", "manual", "asset_triggered")
"""Ways to start a DAG that runs by itself: what it puts in order is the present, of which no day can be made up."""

RETRIES = ExceptionRetryPolicy(
    rules=[
        RetryRule(exception=Unreachable, action=RetryAction.RETRY, reason="a part of the stack does not answer"),
        RetryRule(exception=NoRegistry, action=RetryAction.RETRY, reason="the schema may be on its way"),
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

TYPED_BY = re.compile(r"[^\x00-\x1f]{1,64}")
"""A name of who typed a command, in one line."""
FAILURES = (".refused", ".failed")
"""Endings of the audit's actions that say why a run ended without its end."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Conduct:
    """One task of a run: its ports, author and the form as it was filled in. `held` is the version whose lease the run
    took, `job` is empty where the form names none; `asked_at` is when the run was asked for, however often it was
    cleared since."""

    platform: Platform
    author: Author
    params: Mapping[str, Any]
    job: str
    last_try: bool
    run: Run
    held: int | None = None
    asked_at: datetime | None = None

    @property
    def dry_run(self) -> bool:
        """Whether nothing may be changed."""
        return bool(self.params["dry_run"])

    def first_of(self, steps: Sequence[Step]) -> str:
        """The task with which a plan of these steps begins; the end, for none of them and in a dry run."""
        return CONCLUDE if self.dry_run or not steps else steps[0].value

    def check_lease(self, *planned: int) -> None:
        """Pass when the run holds the version that it is to act on, which is one of the `planned` ones where these are
        given: a task that is cleared later may find another one serving. Raises NoLease, NotHolder."""
        if self.held is None:
            raise NoLease(self.author.run_id)
        which = self.held if not planned or self.held in planned else planned[0]
        lease.check(self.platform, self.job, which, self.author)

    def say(self, sentence: str) -> str:
        """Leave the run's sentence on its page in Airflow, and where its evidence is."""
        log.info("%s Evidence: ./kappa audit --run %s", sentence, self.author.run_id)
        run_note.leave(self.platform.settings, self.run, f"{sentence} (./kappa audit --run {self.author.run_id})")
        return sentence


@contextmanager
def conducting(verb: str) -> Iterator[Conduct]:
    """The conduct of the running task; a refusal or the last failure is written to the audit and to the run's note,
    then goes on up."""
    conduct = _conduct()
    try:
        yield conduct
    except (Unreachable, AirflowSkipException):
        raise
    except Exception as error:
        if isinstance(error, Refusal) and not isinstance(error, NoRegistry):
            _leave_word(conduct, f"{verb}.refused", str(error))
        elif conduct.last_try:
            _leave_word(conduct, f"{verb}.failed", f"{type(error).__name__}: {error}")
        raise


@contextmanager
def acting(verb: str) -> Iterator[Conduct]:
    """As `conducting`, for a task that acts on the version: its run must hold it. Raises NoLease, NotHolder."""
    with conducting(verb) as conduct:
        conduct.check_lease()
        yield conduct


class NoLease(Refusal):
    """A task was to act in a run that never took a lease."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id} has taken no lease, so it may not act; nothing was changed. Clear it from its first task on."
        )


def actor_of(user: str | None, conf: Mapping[str, Any] | None) -> str:
    """Who acts in a run: its user of Airflow, `airflow` for one that nobody triggered; for a command as well who typed
    it, as the command says: `ada as admin`. Only the user is proven, and only the user counts for an approval."""
    known, typed = user or "airflow", (conf or {}).get("typed_by")
    if not isinstance(typed, str) or not TYPED_BY.fullmatch(typed) or typed == known:
        return known
    return f"{typed} as {known}"


def _conduct() -> Conduct:
    context: Any = get_current_context()
    run, task, params = context["dag_run"], context["ti"], context["params"]
    actor = actor_of(getattr(run, "triggering_user_name", None), run.conf)
    return Conduct(
        platform=connect(own_settings()),
        author=Author(actor, run.run_id, params.get("reason") or None),
        params=params,
        job=params.get("job") or "",
        last_try=task.try_number > task.max_tries,
        run=Run(run.dag_id, run.run_id),
        held=task.xcom_pull(task_ids=LEASE_TASK),
        asked_at=run.run_after,
    )


def _leave_word(conduct: Conduct, action: str, sentence: str) -> None:
    """Write why the run ends where the command line and the run's page look for it."""
    log.error("%s: %s", action, sentence)
    evidence = {"sentence": sentence}
    conduct.platform.registry.record(Entry(conduct.author, action, conduct.job or None, conduct.held, evidence))
    conduct.say(sentence)
