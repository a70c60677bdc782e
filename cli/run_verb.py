"""How a verb is carried out from here: by a run of Airflow, followed to its end, or in place under a lease."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cli.follow import Follower, Outcome, Watch
from cli.output import err
from cli.sign_in import session
from kappa.airflow_api import Airflow, Holders, Run
from kappa.core.audit import Author, Entry, in_place_id
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find
from kappa.core.refusals import Refusal
from kappa.core.requests.lifecycle import WhenHeld
from kappa.platform import Platform, connect
from kappa.verbs import lease

LEASE_SECONDS = 600.0
"""The longest that a verb in place holds a job, should its process be killed."""
WAIT_SECONDS = 300.0
"""The longest that a verb in place waits for a job that is held; the forms of Airflow say the same."""

Act = Callable[[Platform, str, Author], str]
"""What a verb does to a job, for an author; a sentence that says what was done."""


def when_held(wait: bool) -> WhenHeld:
    """What is asked of a job that another run holds."""
    return WhenHeld.WAIT if wait else WhenHeld.REFUSE


def by_airflow(settings: Settings, dag_id: str, forms: Mapping[str, Mapping[str, Any]]) -> list[Outcome]:
    """A run for each job with its form, all at once; that one cannot be begun does not keep the others from being
    followed. Raises NotSignedIn, OutOfSight; where none could be begun Unreachable, AirflowRefused."""
    airflow = session(settings)
    begun = {job: _begun(airflow, dag_id, job, form) for job, form in forms.items()}
    runs = [one for one in begun.values() if isinstance(one, Run)]
    refused = [one for one in begun.values() if isinstance(one, Refusal)]
    if refused and not runs:
        raise refused[0]
    ended = iter(Follower(airflow, connect(settings).registry, err).follow(runs))
    return [next(ended) if isinstance(one, Run) else Outcome(job, "", False, str(one)) for job, one in begun.items()]


def _begun(airflow: Airflow, dag_id: str, job: str, form: Mapping[str, Any]) -> Run | Refusal:
    """The run, or why there is none."""
    try:
        return airflow.trigger(dag_id, job, form)
    except Refusal as refusal:
        return refusal


def by_one_run(
    settings: Settings,
    dag_id: str,
    jobs: Sequence[str],
    form: Mapping[str, Any],
    watches: Sequence[Watch] = (),
    user: str | None = None,
) -> list[Outcome]:
    """One run for all jobs together, asked for by who signed in, or by that user of the embedded stack; `watches` tell
    more of it while it goes.

    Raises NotSignedIn, Unreachable, AirflowRefused, NoPassword, OutOfSight.
    """
    airflow = session(settings, user)
    run = airflow.trigger_together(dag_id, jobs, form)
    return Follower(airflow, connect(settings).registry, err, watches).follow([run])


def holders(settings: Settings) -> Holders:
    """Tells of the runs that hold leases, as the person sees them."""
    return Holders(lambda: session(settings))


def in_place(
    settings: Settings, verb: str, jobs: Sequence[str], reason: str | None, act: Act, wait: bool = False
) -> list[Outcome]:
    """One job after the other; a refusal of one does not keep the others from their turn. Raises UnknownJob,
    Unreachable."""
    platform, is_over = connect(settings), holders(settings)
    names = [find(job).name for job in jobs]

    def leased(platform: Platform, job: str, by: Author) -> str:
        lease.take(platform, verb, job, by, LEASE_SECONDS, WAIT_SECONDS if wait else 0.0, is_over)
        return act(platform, job, by)

    return [attempt(platform, verb, job, reason, leased) for job in names]


def attempt(platform: Platform, verb: str, job: str, reason: str | None, act: Act) -> Outcome:
    """One act in place on one job: see `attempt_together`."""
    return attempt_together(platform, verb, [job], reason, lambda platform, by: act(platform, job, by))


def attempt_together(
    platform: Platform, verb: str, jobs: Sequence[str], reason: str | None, act: Callable[[Platform, Author], str]
) -> Outcome:
    """One act in place on all these jobs; a refusal is written to the audit of each, and no lease of its run outlives
    it. Raises Unreachable."""
    by = Author(getpass.getuser(), in_place_id(verb, ".".join(jobs)), reason)
    names = ", ".join(jobs)
    with _giving_back(platform, by):
        try:
            return Outcome(names, by.run_id, True, act(platform, by))
        except Refusal as refusal:
            for job in jobs:
                platform.registry.record(Entry(by, f"{verb}.refused", job, evidence={"sentence": str(refusal)}))
            return Outcome(names, by.run_id, False, str(refusal))


@contextmanager
def _giving_back(platform: Platform, by: Author) -> Iterator[None]:
    try:
        yield
    finally:
        lease.release(platform, by)
