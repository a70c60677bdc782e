"""The tasks that replays, promotions and roll-backs have, whatever the verb: leases, and the steps one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import TriggerRule, task
from airflow.sdk.exceptions import AirflowSkipException

from kappa.airflow.approval import AskOperator
from kappa.airflow.assets import CHANGED, announce
from kappa.airflow.catch_up import CatchUpOperator
from kappa.airflow.lease_tasks import is_over, release
from kappa.airflow.task_context import LONG_TIMEOUT, REPLAY_TIMEOUT, STEP_TIMEOUT, WAIT_SECONDS, Conduct, conducting
from kappa.core.requests.lifecycle import WhenHeld
from kappa.core.verb_steps import CONCLUDE, MoveStep, ReplayStep
from kappa.verbs import lease as leasing
from kappa.verbs.promote import hand_over as moving
from kappa.verbs.promote import steps as promoting
from kappa.verbs.promote.steps import MovePlan
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.plan import ReprocessPlan

Json = dict[str, Any]
VALIDATION_MARGIN = 60.0
"""How much earlier than its task the validation is ended (s), so that this is told as its outcome."""


@task.branch
def choose(verb: str, planned: Json) -> str:
    """A dry run ends with the plan."""
    with conducting(verb) as run:
        return CONCLUDE if run.dry_run else "lease"


@task(execution_timeout=LONG_TIMEOUT)
def lease(verb: str, planned: Json) -> None:
    """Hold the versions that are to serve, for this run; the live ones stay free for others. Raises UnderWay."""
    with conducting(verb) as run:
        waits = WAIT_SECONDS if run.params.get("when_held") == WhenHeld.WAIT else 0
        seconds = REPLAY_TIMEOUT.total_seconds()
        for held in leasing.take_on(run.platform, verb, _targets(run, planned), run.author, seconds, waits, is_over):
            print(held.sentence())


def bracket(verb: str, planned: Any) -> tuple[Any, Any]:
    """The leases and their release as setup and teardown of the DAG that is being made."""
    held: Any = lease(verb, planned).as_setup()
    return held, release(verb).as_teardown(setups=held)


@task
def stage(verb: str, planned: Json) -> None:
    """Make all candidates, or none."""
    with conducting(verb) as run:
        made = ReprocessPlan.from_json(planned)
        reprocess.stage(run.platform, verb, made, run.author)
        run.say(f"replaying: {', '.join(f'{name} {value}' for name, value in made.price.rows())}.")


@task(execution_timeout=LONG_TIMEOUT)
def validate(verb: str) -> None:
    """Have the candidates compared with what is live, by a process of its own. Raises NotValid."""
    with conducting(verb) as run:
        seconds = LONG_TIMEOUT.total_seconds() - VALIDATION_MARGIN
        reprocess.check(run.platform, verb, run.author, seconds)


@task(execution_timeout=STEP_TIMEOUT, trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS)
def promote(verb: str) -> str:
    """Let the candidates serve, all or none; skipped where nothing is to be promoted."""
    with conducting(verb) as run:
        replay = reprocess.of_run(run.platform, run.author)
        if not replay.promote:
            raise AirflowSkipException("a proof promotes nothing")
        return promoting.promote(run.platform, verb, replay, run.author, is_over)


@task(trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS, outlets=[CHANGED])
def conclude(verb: str, planned: Json) -> str:
    """End the replay by what became of it; only where other versions serve now is an event emitted."""
    with conducting(verb) as run:
        if run.dry_run:
            return run.say(reprocess.dry_sentence(ReprocessPlan.from_json(planned)))
        done = reprocess.conclude(run.platform, verb, run.author)
        _announce(verb, done.promoted)
        return run.say(done.sentence)


@task
def hand_over(verb: str, planned: Json) -> None:
    """Move the segments as planned; where it is a replay's promotion, its candidates serve and the replay ends."""
    with conducting(verb) as run:
        hand = MovePlan.from_json(planned).hand
        if verb != promoting.PROMOTE:
            moving.hand_over(run.platform, verb, hand, run.author, is_over)
            return
        replay = run.platform.releases.replay_of_versions(hand.targets)
        assert replay is not None, "a plan of a promotion names the candidates of a replay"
        promoting.promote(run.platform, verb, replay, run.author, is_over)


@task(trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS, outlets=[CHANGED])
def conclude_move(verb: str, planned: Json) -> str:
    """Say what the hand-over did, and emit that the jobs were changed."""
    with conducting(verb) as run:
        made = MovePlan.from_json(planned)
        if run.dry_run:
            return run.say(promoting.dry_sentence(verb, made))
        release_made = moving.hand_over(run.platform, verb, made.hand, run.author, is_over)
        _announce(verb, made.hand.targets)
        return run.say(promoting.conclude(run.platform, verb, release_made, run.author))


def _announce(verb: str, versions: Mapping[str, int]) -> None:
    for job, version in sorted(versions.items()):
        announce(verb, job, version)


def _targets(run: Conduct, planned: Json) -> Mapping[str, int]:
    if "hand" in planned:
        return MovePlan.from_json(planned).hand.targets
    return reprocess.candidates(run.platform, ReprocessPlan.from_json(planned), run.author)


def replay_graph(verb: str, planned: Any) -> None:
    """Stage, catch up, validate, ask, promote, under the candidates' leases; a dry run goes straight to the end."""
    chosen: Any = choose(verb, planned)
    held, given = bracket(verb, planned)
    staged = stage.override(task_id=ReplayStep.STAGE)(verb, planned)
    caught_up = CatchUpOperator(task_id=ReplayStep.CATCH_UP, verb=verb)
    valid = validate.override(task_id=ReplayStep.VALIDATE)(verb)
    asked = AskOperator(task_id=ReplayStep.APPROVE, verb=verb)
    promoted = promote.override(task_id=ReplayStep.PROMOTE)(verb)
    done = conclude(verb, planned)
    chosen >> held >> staged >> caught_up >> valid >> asked >> promoted >> done >> given
    chosen >> done


def move_graph(verb: str, planned: Any) -> None:
    """Catch up and hand over, under the leases of what is to serve; a dry run goes straight to the end."""
    chosen: Any = choose(verb, planned)
    held, given = bracket(verb, planned)
    caught_up = CatchUpOperator(task_id=MoveStep.CATCH_UP, verb=verb, planned=planned)
    moved = hand_over.override(task_id=MoveStep.HAND_OVER)(verb, planned)
    done = conclude_move.override(task_id=CONCLUDE)(verb, planned)
    chosen >> held >> caught_up >> moved >> done >> given
    chosen >> done
