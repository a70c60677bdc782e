"""Look at every stream that should do its work, and repair what may be repaired without asking."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from kappa.core.audit import Author, Entry
from kappa.core.job_catalog import JOBS, find
from kappa.core.log.topic import MissingTopic
from kappa.core.refusals import Refusal
from kappa.core.verb_steps import Verb
from kappa.core.versions import OVER, Lease, Version
from kappa.platform import Platform
from kappa.registry.port import UnderWay
from kappa.unavailable import Unreachable
from kappa.verbs.change.recovery import settle, wait_free
from kappa.verbs.desired import Found
from kappa.verbs.drivers.launch import launch
from kappa.verbs.drivers.standby import add_standby, no_room, stands_by
from kappa.verbs.lease import IsOver, nobody_ended
from kappa.verbs.observation import runs
from kappa.verbs.repair.plan import Action, Finding, Kind, Observed, RepairPlan, decide
from kappa.verbs.stop.steps import shut_out

VERB = Verb.REPAIR
LEASE_SECONDS = 600.0
LEFT_OF = {Action.REPLACE: Action.RESTART}
"""What may be left to do of an act: the driver that was to be replaced is gone, by itself or by an earlier try."""


def plan_repair(platform: Platform, job: str | None = None, is_over: IsOver = nobody_ended) -> RepairPlan:
    """What is found of one job or of all, and what would be done about it. Changes nothing. Raises UnknownJob."""
    jobs, answers = [find(job).name] if job else list(JOBS), _log_answers(platform)
    return decide([replace(seen, log_answers=answers) for name in jobs for seen in observe(platform, name, is_over)])


def observe(platform: Platform, job: str, is_over: IsOver = nobody_ended) -> list[Observed]:
    """How each version of a job does that is not over, or that serves; a dead run's lease counts for nothing."""
    registry = platform.registry
    there = Found(registry.versions(job), registry.segments(job))
    wanted = [version for version in there.versions if version.state not in OVER or there.serves(version)]
    return [_observed(platform, version, there, is_over) for version in wanted]


def carry_out(platform: Platform, plan: RepairPlan, by: Author, is_over: IsOver = nobody_ended) -> str:
    """Do what the plan says, each under a lease of its own, and say it.

    A version that another run holds, or that calls for something else by now, is left to the next repair. Raises the
    first Refusal there was, CheckpointHeld, NotReady, SubmissionRefused or Unreachable, when all else is done.
    """
    for finding in plan.findings:
        if finding.kind in (Kind.LOG_AWAY, Kind.LOG_BACK):
            told = {"found": finding.sentence}
            platform.registry.record(Entry(by, f"{VERB}.{finding.kind}", finding.job, finding.version, told))
    done, refused = _repair_all(platform, plan, by, is_over)
    left = [f"{f.name}: {f.sentence}" for f in plan.findings if f.action is Action.REPORT]
    untouched = f" Not touched: {'; '.join(left)}." if left else ""
    sentence = f"{'; '.join(done) or 'nothing to repair'}.{untouched}"
    evidence = {"sentence": sentence, "plan": plan.to_json()}
    platform.registry.record(Entry(by, f"{VERB}.done", None, None, evidence))
    if refused:
        raise refused[0]
    return sentence


def dry_sentence(plan: RepairPlan) -> str:
    """What a dry run found, in one sentence."""
    acts = "; ".join(f"{f.name} {f.sentence}" for f in plan.acts) or "nothing to repair"
    return f"dry run: {acts}; nothing was changed."


def _log_answers(platform: Platform) -> bool:
    """Whether the broker does; one that has no such topic does."""
    try:
        with platform.open_log() as log, suppress(MissingTopic):
            log.ends()
    except Unreachable:
        return False
    return True


def _observed(platform: Platform, version: Version, there: Found, is_over: IsOver) -> Observed:
    job, number = version.job, version.version
    lease = platform.registry.lease(job, number)
    opened, now = platform.registry.open_launch(job, number), platform.registry.now()
    standby = stands_by(platform, version, opened) if there.serves(version) else None
    return Observed(
        version=version,
        health=platform.registry.health(job, number),
        driver_alive=runs(platform, job, number),
        lease=None if lease is None or is_over(lease) else lease,
        change=platform.registry.open_change(job, number),
        serves=there.serves(version),
        now=now,
        launch_seconds=(now - opened.intended_at).total_seconds() if opened else None,
        standby=standby,
        no_room=no_room(platform, version.settings) if standby is False else "",
    )


def _repair_all(platform: Platform, plan: RepairPlan, by: Author, is_over: IsOver) -> tuple[list[str], list[Refusal]]:
    """What was done or not, act by act, and the refusals: one version's trouble keeps no other from its repair."""
    done: list[str] = []
    refused: list[Refusal] = []
    for finding in plan.acts:
        try:
            done.append(_repair(platform, finding, by, is_over))
        except Refusal as refusal:
            done.append(f"{finding.name} could not be repaired ({refusal})")
            refused.append(refusal)
    return done, refused


def _repair(platform: Platform, finding: Finding, by: Author, is_over: IsOver) -> str:
    held = platform.registry.lease(finding.job, finding.version)
    over = held.run_id if held and is_over(held) else None
    try:
        platform.registry.take_lease(VERB, finding.job, finding.version, by, LEASE_SECONDS, over)
    except UnderWay as other:
        return str(other)
    try:
        return _under_lease(platform, finding, by, is_over)
    finally:
        platform.registry.release_leases(by)


def _under_lease(platform: Platform, planned: Finding, by: Author, is_over: IsOver) -> str:
    """Only what is still called for is done: between plan and lease an operator may have stopped or started it."""
    now = _found_now(platform, planned, by, is_over)
    if now is None:
        return f"{planned.name} is left: planned was '{planned.action}', by now it is over"
    if now.action not in (planned.action, LEFT_OF.get(planned.action)):
        would = f"{now.action}: {now.sentence}"
        return f"{planned.name} is left: planned was '{planned.action}', by now it would be '{would}'"
    return ACTS[now.action](platform, now, by)


def _found_now(platform: Platform, planned: Finding, by: Author, is_over: IsOver) -> Finding | None:
    """What the version calls for now that this run holds it; None once nothing is to run or to be served of it."""

    def counts_for_nothing(lease: Lease) -> bool:
        return lease.run_id == by.run_id or is_over(lease)

    found = plan_repair(platform, planned.job, counts_for_nothing).findings
    return next((finding for finding in found if finding.version == planned.version), None)


def _settle(platform: Platform, finding: Finding, by: Author) -> str:
    change = platform.registry.open_change(finding.job, finding.version)
    return settle(platform, change, by, finding.sentence) if change else f"{finding.name} has no open change any more"


def _restart(platform: Platform, finding: Finding, by: Author) -> str:
    """Start the driver once the checkpoint is free. Raises CheckpointHeld, Unreachable, SubmissionRefused."""
    # A record is a restart that counts. Where the checkpoint is held no driver is started, so none is written; a kill
    # between record and launch is counted, too, so no crash at that place repeats for ever.
    wait_free(platform, finding.job, finding.version)
    evidence = {"found": finding.sentence}
    platform.registry.record(Entry(by, f"{VERB}.restarted", finding.job, finding.version, evidence))
    launch(platform, finding.job, finding.version)
    return f"{finding.name} was started again ({finding.sentence})"


def _replace(platform: Platform, finding: Finding, by: Author) -> str:
    shut_out(platform, finding.job, finding.version, by)
    return _restart(platform, finding, by)


def _add_standby(platform: Platform, finding: Finding, by: Author) -> str:
    if add_standby(platform, finding.job, finding.version, VERB, by) is None:
        return f"{finding.name} has no driver any more that another one could stand by for"
    return f"a driver stands by for that of {finding.name} soon"


def _give_up(platform: Platform, finding: Finding, by: Author) -> str:
    shut_out(platform, finding.job, finding.version, by)
    platform.registry.give_up(finding.job, finding.version, finding.sentence)
    platform.registry.record(Entry(by, f"{VERB}.gave_up", finding.job, finding.version, {"found": finding.sentence}))
    return f"{finding.name} was given up ({finding.sentence})"


ACTS: dict[Action, Callable[[Platform, Finding, Author], str]] = {
    Action.SETTLE: _settle,
    Action.RESTART: _restart,
    Action.REPLACE: _replace,
    Action.GIVE_UP: _give_up,
    Action.ADD_STANDBY: _add_standby,
}
