"""Verbs on jobs of a lab by their own steps, as Airflow's tasks make them: rescale, replay and promotion, roll-back."""

from __future__ import annotations

import json
import sys
import uuid
from dataclasses import replace

from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS
from kappa.core.replays import Answer
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.platform import connect
from kappa.verbs import lease
from kappa.verbs.change import steps as change
from kappa.verbs.drivers import program_on_cluster, standby
from kappa.verbs.drivers.finite_program import Program
from kappa.verbs.promote import steps as promote
from kappa.verbs.replay import catch_up
from kappa.verbs.replay import steps as replay
from kappa.verbs.replay.observation import plan_reprocess
from kappa.verbs.rescale.steps import VERB, plan_rescale

HELD_SECONDS = 3_600.0


def rescale(settings: Settings, job: str, given: str) -> object:
    """Give a job other partitions, cores or executors; `given` is what is asked for, as JSON."""
    platform, by = connect(settings), author()
    plan = plan_rescale(platform, RescaleRequest(job, **json.loads(given)))
    try:
        lease.take(platform, VERB, job, by, HELD_SECONDS, 0.0, nobody_ended)
        made = change.begin(platform, VERB, job, plan.version, plan.old, plan.new, by)
        work = program_on_cluster.start(platform, made, Program.REPARTITION, print_step) if made.repartitions else None
        standby.prepare(platform, made, by)
        change.hold(platform, made, by)
        if work is not None:
            program_on_cluster.follow(platform, made, Program.REPARTITION, work, print_step)
        change.switch(platform, made)
        change.launch(platform, made, by)
        change.ready(platform, made, by)
        return change.conclude(platform, made, by)
    finally:
        lease.release(platform, by)


def reprocess(settings: Settings, *jobs: str) -> object:
    """Replay jobs from the smallest exact start with the same rules, which must give the same numbers; somebody else
    agrees, and they are promoted."""
    platform, by = connect(settings), author()
    plan = plan_reprocess(platform, ReprocessRequest(jobs))
    verb = replay.VERB
    try:
        versions = replay.candidates(platform, plan, by)
        lease.take_on(platform, verb, versions, by, HELD_SECONDS, 0.0, nobody_ended)
        made = replay.stage(platform, verb, plan, by)
        pursuit = replay.pursue(platform, verb, by)
        if pursuit is not None:
            replay.reached(platform, verb, catch_up.wait(platform, pursuit), by)
        replay.check(platform, verb, by)
        platform.releases.note_answer(made.replay_id, Answer.APPROVED, replace(by, actor="approver"))
        promote.promote(platform, verb, made, by)
        return replay.conclude(platform, verb, by).sentence
    finally:
        lease.release(platform, by)


def rollback(settings: Settings, *jobs: str) -> object:
    """Undo the newest release of jobs."""
    platform = connect(settings)
    return promote.carry_out(platform, promote.plan_rollback(platform, jobs), author(), nobody_ended, print_step)


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


def print_step(step: str) -> None:
    """Say where it is."""
    print(step, file=sys.stderr)
