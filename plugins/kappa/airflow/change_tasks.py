"""The tasks that every change of a version in place has, whatever its verb."""

from __future__ import annotations

from airflow.sdk import TriggerRule, task
from airflow.sdk.exceptions import AirflowSkipException

from kappa.airflow.task_context import FAILURES, LONG_TIMEOUT, Conduct, acting
from kappa.core.changes import Change
from kappa.verbs.change import recovery
from kappa.verbs.change import steps as changing
from kappa.verbs.drivers import standby as standing


@task
def standby(verb: str) -> None:
    """Start the next driver beside the present one; it waits until it is called."""
    with acting(verb) as run:
        print(standing.prepare(run.platform, _held(run), run.author))


@task(execution_timeout=LONG_TIMEOUT)
def hold(verb: str) -> None:
    """Once what comes next is ready to begin, have the version's driver finish its batch and end."""
    with acting(verb) as run:
        changing.hold(run.platform, _held(run), run.author)


@task
def switch(verb: str) -> None:
    """Let the version be what the change makes of it."""
    with acting(verb) as run:
        changing.switch(run.platform, _held(run))


@task
def launch(verb: str) -> None:
    """Start the driver of the changed version."""
    with acting(verb) as run:
        changing.launch(run.platform, _held(run), run.author)


@task(execution_timeout=LONG_TIMEOUT)
def ready(verb: str) -> None:
    """Wait until it works; else the version is what it was before, and the run has failed."""
    with acting(verb) as run:
        changing.ready(run.platform, _held(run), run.author)


@task(trigger_rule=TriggerRule.ONE_FAILED, execution_timeout=LONG_TIMEOUT)
def settle(verb: str) -> str:
    """Where a task before failed: bring the run's change, if it has left one open, to one of its two ends."""
    with acting(verb) as run:
        change = run.platform.registry.open_change(run.job, run.held or 0)
        if change is None or change.run_id != run.author.run_id:
            raise AirflowSkipException("this run has left nothing half done")
        settled = recovery.settle(run.platform, change, run.author)
        return run.say(f"{_failure(run)}{settled}")


def _held(run: Conduct) -> Change:
    """The run's change, of a version that the run holds. Raises LookupError, NotHolder."""
    change = changing.of_run(run.platform, run.job, run.author)
    run.check_lease(change.version)
    return change


def _failure(run: Conduct) -> str:
    """Why the run failed, as the failed task wrote it down: a note replaces the one before, so that is said again."""
    ends = [entry for entry in run.platform.registry.entries(run.author.run_id) if entry.action.endswith(FAILURES)]
    return f"{ends[-1].evidence['sentence']} Then: " if ends else ""
