"""Promotion and roll-back by hand: forward, back and forward again, and what is said before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kappa.core.audit import Author
from kappa.core.replays import Answer
from kappa.core.verb_steps import Verb
from kappa.core.versions import Desired, State
from kappa.verbs import lease
from kappa.verbs.promote import hand_over
from kappa.verbs.promote import steps as promote
from kappa.verbs.replay import catch_up
from kappa.verbs.replay.approvers import OwnRequest, RunIsOlder, WasRejected
from kappa.verbs.stop.steps import end_driver
from tests.plugins.conftest import Stage
from tests.plugins.replay_runs import JOBS, deployed, move, pursue, run_all, serving

OTHER, THIRD, FOURTH = (Author(f"user-{n}", f"run-{n}", "why") for n in (2, 3, 4))
OLD, NEW = dict.fromkeys(JOBS, 1), dict.fromkeys(JOBS, 2)


def promoted(stage: Stage, by: Author) -> None:
    """A replay of both jobs that serves."""
    deployed(stage, by)
    run_all(stage.platform, OTHER)
    assert serving(stage) == NEW


def test_forward_back_and_forward_again(stage: Stage, author: Author) -> None:
    promoted(stage, author)
    back = promote.plan_rollback(stage.platform, JOBS)
    said = move(stage.platform, promote.ROLLBACK, back, THIRD)
    assert said.startswith("release 4 rolled back: ad_ctr v2 -> v1, client_spend v2 -> v1")
    assert serving(stage) == OLD
    again = promote.plan_promote(stage.platform, JOBS, FOURTH)
    move(stage.platform, promote.PROMOTE, again, FOURTH)
    assert serving(stage) == NEW


def test_a_roll_back_says_first_how_fresh_the_old_version_is_and_until_when(stage: Stage, author: Author) -> None:
    promoted(stage, author)
    said = dict(promote.plan_rollback(stage.platform, JOBS).rows())
    assert said["ad_ctr v1"].startswith("has read all there is; can be rolled back to until 2026-02-01T13:")
    end_driver(stage.platform, "ad_ctr", 1, author)
    stage.log.times = {0: [*stage.log.times[0], 1, 2, 3], 1: []}
    said = dict(promote.plan_rollback(stage.platform, JOBS).rows())
    assert said["ad_ctr v1"].startswith("has 3 records to read first")
    assert "it is stopped and has to be started" in said["catches up in"]


def test_a_roll_back_without_airflow_starts_what_is_stopped_and_leaves_no_lease(stage: Stage, author: Author) -> None:
    promoted(stage, author)
    end_driver(stage.platform, "ad_ctr", 1, author)
    plan = promote.plan_rollback(stage.platform, JOBS)
    promote.carry_out(stage.platform, plan, THIRD, lambda _: False, lambda _: None)
    assert serving(stage) == OLD
    assert stage.registry.held["ad_ctr", 1].desired is Desired.RUNNING
    assert stage.registry.leases == {}


def given_up(stage: Stage, job: str, number: int) -> None:
    """The version's driver gave it up, and ended."""
    opened = stage.registry.open_launch(job, number)
    assert opened is not None
    stage.cluster.kill(opened.launch_id, opened.names)
    stage.registry.end_launch(opened.launch_id)
    stage.registry.give_up(job, number, "a full disk")


def test_a_roll_back_gives_a_version_that_gave_up_a_new_try_and_says_so_first(stage: Stage, author: Author) -> None:
    promoted(stage, author)
    stage.clock.sleep(600)
    given_up(stage, "ad_ctr", 1)
    until = stage.clock.now() + timedelta(hours=25)
    plan = promote.plan_rollback(stage.platform, JOBS)
    said = dict(plan.rows())
    assert said["ad_ctr v1"].startswith("gave up (failed: a full disk), and is given a new try; has read all there is")
    assert said["ad_ctr v1"].endswith(f"can be rolled back to until {until:%Y-%m-%dT%H:%M:%SZ}")
    assert said["client_spend v1"].startswith("has read all there is")
    promote.carry_out(stage.platform, plan, THIRD, lambda _: False, lambda _: None)
    assert serving(stage) == OLD
    assert [stage.registry.held["ad_ctr", number].state for number in (1, 2)] == [State.LIVE, State.PREVIOUS]


def test_a_version_that_gives_up_again_does_not_come_to_serve(stage: Stage, author: Author) -> None:
    promoted(stage, author)
    given_up(stage, "ad_ctr", 1)
    plan = promote.plan_rollback(stage.platform, JOBS)
    stage.clock.meanwhile.append(lambda: stage.registry.give_up("ad_ctr", 1, "a gap in the log"))
    with pytest.raises(catch_up.NeverReady, match=r"gave up \(failed: a gap in the log\).*Mend the cause"):
        promote.carry_out(stage.platform, plan, THIRD, lambda _: False, lambda _: None)
    assert serving(stage) == NEW
    assert stage.registry.held["ad_ctr", 1].state is State.FAILED


def test_a_roll_back_that_was_undone_is_not_said_to_be_done_by_a_run_that_is_cleared(
    stage: Stage, author: Author
) -> None:
    """Whether it is cleared from its first task on or from a later one."""
    promoted(stage, author)
    stale = promote.plan_rollback(stage.platform, JOBS)
    move(stage.platform, promote.ROLLBACK, stale, THIRD)
    move(stage.platform, promote.PROMOTE, promote.plan_promote(stage.platform, JOBS, FOURTH), FOURTH)
    for plan in (promote.plan_rollback(stage.platform, JOBS), stale):
        with pytest.raises(
            hand_over.MovedSince, match=r"as release 4.*ad_ctr v2, client_spend v2 serve.*kappa rollback ad_ctr client"
        ):
            move(stage.platform, promote.ROLLBACK, plan, THIRD)
    assert serving(stage) == NEW


@pytest.mark.parametrize("verb", [promote.PROMOTE, Verb.REPROCESS])
def test_a_promotion_that_was_rolled_back_is_not_said_to_be_done_by_a_run_that_is_cleared(
    stage: Stage, author: Author, verb: Verb
) -> None:
    promoted(stage, author)
    move(stage.platform, promote.ROLLBACK, promote.plan_rollback(stage.platform, JOBS), THIRD)
    replay = promote.replay_of_jobs(stage.platform, JOBS)
    with pytest.raises(hand_over.MovedSince, match=r"as release 3.*v1 serve.*new run: \./kappa promote ad_ctr"):
        promote.promote(stage.platform, verb, replay, OTHER)
    assert serving(stage) == OLD


def test_a_move_that_is_planned_anew_has_its_time_to_catch_up_anew(stage: Stage, author: Author) -> None:
    """Its run was cleared from its first task on, hours later; a second try of one task keeps the time that it had."""
    promoted(stage, author)
    lease.take_on(stage.platform, promote.ROLLBACK, OLD, THIRD, 36_000, 0, lambda _: False)
    deadlines = []
    for _ in range(2):
        plan = promote.plan_rollback(stage.platform, JOBS)
        deadlines += [pursue(stage.platform, promote.ROLLBACK, plan, THIRD).deadline for _ in range(2)]
        stage.clock.sleep(2 * 3600)
    first, again, anew, anew_again = deadlines
    assert first == again
    assert anew == anew_again
    assert anew - first == timedelta(hours=2)
    known = catch_up.pursuit_of(stage.platform, promote.ROLLBACK, THIRD)
    assert known is not None
    assert known.deadline == anew


def test_what_timed_out_may_be_promoted_by_somebody_else(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    run_all(stage.platform, OTHER, answer=Answer.TIMED_OUT)
    with pytest.raises(OwnRequest, match="user-2 asked for the replay of ad_ctr v2, client_spend v2, and user-2 would"):
        promote.plan_promote(stage.platform, JOBS, OTHER)
    plan = promote.plan_promote(stage.platform, JOBS, THIRD)
    move(stage.platform, promote.PROMOTE, plan, THIRD)
    assert serving(stage) == NEW


def test_a_run_promotes_no_replay_that_began_after_it_was_asked_for(stage: Stage, author: Author) -> None:
    """Else who asked for a replay could approve it, by clearing a run of somebody else."""
    deployed(stage, author)
    asked_at = stage.clock.now()
    stage.clock.sleep(60)
    run_all(stage.platform, OTHER, answer=Answer.TIMED_OUT)
    with pytest.raises(RunIsOlder, match=r"asked for at .*, before the replay of ad_ctr v2, client_spend v2 began.*"):
        promote.plan_promote(stage.platform, JOBS, THIRD, asked_at)
    assert promote.plan_promote(stage.platform, JOBS, THIRD, stage.clock.now()).hand.targets == NEW


def test_a_run_promotes_no_replay_that_was_validated_after_it_was_asked_for(stage: Stage, author: Author) -> None:
    """It was refused then; cleared by who asked for the replay, it would agree to numbers that its author never saw."""
    deployed(stage, author)
    run_all(stage.platform, OTHER, answer=Answer.TIMED_OUT)
    replay = promote.replay_of_jobs(stage.platform, JOBS)
    assert replay.begun_at is not None
    assert replay.validated_at is not None
    earlier = replay.validated_at - timedelta(seconds=1)
    assert earlier > replay.begun_at
    with pytest.raises(RunIsOlder, match=r"before the replay of ad_ctr v2, client_spend v2 was validated, so who"):
        promote.plan_promote(stage.platform, JOBS, THIRD, earlier)
    assert promote.plan_promote(stage.platform, JOBS, THIRD, replay.validated_at).hand.targets == NEW


def test_what_was_rejected_is_not_promoted_by_hand(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    run_all(stage.platform, OTHER, answer=Answer.REJECTED)
    with pytest.raises(WasRejected):
        promote.plan_promote(stage.platform, JOBS, THIRD)


def test_only_what_was_replayed_together_is_promoted_together(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    with pytest.raises(promote.NothingToPromote, match="ad_ctr has no version"):
        promote.plan_promote(stage.platform, JOBS, THIRD)
    run_all(stage.platform, OTHER, answer=Answer.TIMED_OUT)
    with pytest.raises(promote.NotReplayedTogether, match="the replay was of ad_ctr v2, client_spend v2"):
        promote.plan_promote(stage.platform, ["ad_ctr"], THIRD)


def test_a_target_that_fell_behind_takes_nothing_over(stage: Stage, author: Author) -> None:
    promoted(stage, author)
    plan = promote.plan_rollback(stage.platform, JOBS)
    lease.take_on(stage.platform, promote.ROLLBACK, OLD, THIRD, 3600, 0, lambda _: False)
    end_driver(stage.platform, "client_spend", 1, author)
    stage.log.times = {0: [*stage.log.times[0], 1], 1: []}
    stage.clock.sleep(30)
    with pytest.raises(hand_over.TooFarBehind, match=r"client_spend v1 is .* s behind"):
        hand_over.hand_over(stage.platform, promote.ROLLBACK, plan.hand, THIRD)
    assert serving(stage) == NEW
    assert stage.registry.held["ad_ctr", 2].state is State.LIVE
