"""A restart of a job of a lab by the verb's own steps, where no Airflow is, and what serves."""

from __future__ import annotations

import json
import uuid

from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.platform import connect
from kappa.verbs import lease
from kappa.verbs.change import steps as change
from kappa.verbs.drivers import standby
from kappa.verbs.rescale.plan import Action
from kappa.verbs.rescale.steps import VERB, plan_rescale

HELD_SECONDS = 3_600.0


def rescale(settings: Settings, job: str, given: str) -> object:
    """Give a job other cores or executors, which is a restart; `given` is what is asked for, as JSON."""
    platform, by = connect(settings), author()
    plan = plan_rescale(platform, RescaleRequest(job, **json.loads(given)))
    assert plan.action is Action.RESTART, "its state stays as it is"
    try:
        lease.take(platform, VERB, job, by, HELD_SECONDS, 0.0, nobody_ended)
        made = change.begin(platform, VERB, job, plan.version, plan.old, plan.new, by)
        standby.prepare(platform, made, by)
        change.hold(platform, made, by)
        change.switch(platform, made)
        change.launch(platform, made, by)
        change.ready(platform, made, by)
        return change.conclude(platform, made, by)
    finally:
        lease.release(platform, by)


def serving(settings: Settings) -> dict[str, int]:
    """Which version serves each job's live end."""
    segments = {job: connect(settings).registry.segments(job) for job in JOBS}
    return {job: found[-1].version for job, found in segments.items() if found}


def author() -> Author:
    """Who acts, by a run of its own."""
    return Author("lab", f"lab-{uuid.uuid4()}", "of a test")


def nobody_ended(_: object) -> bool:
    """Nobody else holds anything here."""
    return False
