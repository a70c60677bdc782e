"""Whole runs of replays, promotions and roll-backs on fakes, whose drivers read what the log holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kappa.core.audit import Author
from kappa.core.replays import Answer, Replay
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.platform import Platform
from kappa.verbs import lease
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.promote import hand_over
from kappa.verbs.promote import steps as promote
from kappa.verbs.replay import catch_up
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.observation import plan_reprocess
from kappa.verbs.replay.validation import Ended
from tests.plugins.stages import AnyStage

JOBS = ("ad_ctr", "client_spend")
PASSED: Mapping[str, Any] = {"success": True, "crashed": False, "compared_rows": 7, "results": [], "comparisons": []}
WRONG: Mapping[str, Any] = {
    "success": False, "crashed": False, "compared_rows": 7, "comparisons": [],
    "results": [{"suite": "parity", "expectation": "equal", "says": "equal rows", "severity": "block",
                 "success": False, "observed": "1 offending row", "rows": [{"client_id": "c"}]}],
}  # fmt: skip


def deployed(stage: AnyStage, by: Author, *jobs: str) -> None:
    """Live first versions, whose drivers read."""
    stage.clock.meanwhile.append(lambda: read(stage))
    for job in jobs or JOBS:
        deploy.carry_out(stage.platform, plan_deploy(stage.platform, DeployRequest(job)), by, lambda _: None)
    stage.clock.sleep(1)


def read(stage: AnyStage) -> None:
    """Every driver that runs has read the whole log."""
    ends = stage.log.ends()
    for name in stage.cluster.running():
        arguments = stage.cluster.submissions[name][0].arguments
        job, version = (arguments[arguments.index(option) + 1] for option in ("--job", "--version"))
        beat = stage.platform.registry.heartbeat(job, int(version))
        if beat is not None and beat.submission_id == name:
            stage.read(job, int(version), ends)


def says(outcome: Mapping[str, Any]) -> Any:
    """A program that hands back this outcome."""

    def run(command: list[str], folder: Path, seconds: float) -> Ended:
        (folder / "out.json").write_text(json.dumps(outcome))
        return Ended(0 if outcome["success"] else 1, "")

    return run


def run_all(
    platform: Platform,
    by: Author,
    verb: str = reprocess.VERB,
    outcome: Mapping[str, Any] = PASSED,
    answer: Answer | None = Answer.APPROVED,
    **asked: Any,
) -> reprocess.Concluded:
    """All steps of a replay, as a run makes them; the lease is given back whatever happens."""
    request = ReprocessRequest(JOBS, **asked)
    planned = reprocess.recall(platform, verb, by) or plan_reprocess(platform, request)
    try:
        versions = reprocess.candidates(platform, planned, by)
        lease.take_on(platform, verb, versions, by, 3600, 0, lambda _: False)
        replay = reprocess.stage(platform, verb, planned, by)
        pursuit = reprocess.pursue(platform, verb, by)
        if pursuit is not None:
            reprocess.reached(platform, verb, catch_up.wait(platform, pursuit), by)
        validated = reprocess.check(platform, verb, by, run=says(outcome))
        answered = ask(platform, validated, answer)
        if answered.promote and answered.answer in (None, Answer.APPROVED):
            promote.promote(platform, verb, replay, by)
        return reprocess.conclude(platform, verb, by)
    finally:
        lease.release(platform, by)


def ask(platform: Platform, replay: Replay, answer: Answer | None) -> Replay:
    """What somebody answers; nobody is asked where nothing is promoted."""
    if answer is None or not replay.promote:
        return replay
    return platform.releases.note_answer(replay.replay_id, answer, Author("bob", replay.run_id))


def move(platform: Platform, verb: str, plan: promote.MovePlan, by: Author) -> str:
    """All steps of a promotion or a roll-back by hand."""
    targets = plan.hand.targets
    try:
        lease.take_on(platform, verb, targets, by, 3600, 0, lambda _: False)
        pursuit = pursue(platform, verb, plan, by)
        catch_up.caught_up(platform, verb, targets, catch_up.wait(platform, pursuit), by)
        return promote.conclude(platform, verb, hand_over.hand_over(platform, verb, plan.hand, by), by)
    finally:
        lease.release(platform, by)


def pursue(platform: Platform, verb: str, plan: promote.MovePlan, by: Author) -> catch_up.Pursuit:
    """Start what is to serve."""
    return catch_up.launch(platform, verb, plan.hand.targets, 0, plan.eta_seconds, by, plan.planned_at)


def serving(stage: AnyStage) -> dict[str, int]:
    """Which version serves each job's live end."""
    return {job: stage.platform.registry.segments(job)[-1].version for job in JOBS}
