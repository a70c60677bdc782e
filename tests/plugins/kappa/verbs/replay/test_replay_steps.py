"""The steps of a replay: what passes serves together, what does not pass is never served."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kappa.core.audit import Author
from kappa.core.replays import Answer
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.core.versions import State
from kappa.registry.port import UnderWay
from kappa.verbs import lease
from kappa.verbs.lease import NotHolder
from kappa.verbs.promote import steps as promote
from kappa.verbs.replay import catch_up
from kappa.verbs.replay import steps as reprocess
from kappa.verbs.replay.candidate import NoFreeCores
from kappa.verbs.replay.observation import closed_span_start, plan_reprocess
from kappa.verbs.replay.price import LogWillBeTooShort
from tests.plugins.conftest import Stage
from tests.plugins.replay_runs import JOBS, WRONG, deployed, run_all, serving

OTHER = Author("other", "run-2", "numbers")
BOTH_LIVE = dict.fromkeys(JOBS, 1)
BOTH_NEW = dict.fromkeys(JOBS, 2)


def test_all_steps_let_both_candidates_serve_together(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    done = run_all(stage.platform, OTHER)
    assert done.promoted == serving(stage) == BOTH_NEW
    assert "ad_ctr v2, client_spend v2 serve all windows" in done.sentence
    assert "as small as" not in done.sentence
    assert len(stage.cluster.running()) == 4, "the old versions run on for the roll-back"
    assert [stage.registry.held[job, 1].state for job in JOBS] == [State.PREVIOUS] * 2
    assert stage.registry.leases.keys().isdisjoint({(job, 0) for job in JOBS})
    assert stage.releases.releases()[-1].approved_by == "bob"


def test_what_was_replayed_small_is_said_to_be_small_with_the_command_that_mends_it(
    stage: Stage, author: Author
) -> None:
    deployed(stage, author)
    done = run_all(stage.platform, OTHER, cores=1, rate=5_000)
    mend = "--set executor_cores=2 --set cadence_ms=500 --set records_per_batch=200000 --reason TEXT"
    for job in JOBS:
        assert f"{job} v2 goes on as small as its replay was; as v1 ran: ./kappa deploy {job} {mend}." in done.sentence


@pytest.mark.parametrize("promotes", [True, False])
def test_what_does_not_pass_is_stopped_and_serves_nobody(stage: Stage, author: Author, promotes: bool) -> None:
    deployed(stage, author)
    for _ in range(2):
        with pytest.raises((reprocess.NotValid, reprocess.ReplayOver), match=r"equal rows \(1 offending row\)"):
            run_all(stage.platform, OTHER, outcome=WRONG, promote=promotes)
    assert serving(stage) == BOTH_LIVE
    assert len(stage.cluster.running()) == 2
    red = [stage.registry.red_lines(job, 2) for job in JOBS]
    assert all(red) is not promotes, "a proof that fails is a red line, a candidate that fails is none"


def test_a_refusal_names_the_report_where_there_is_one(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    with pytest.raises(reprocess.NotValid, match=r"The report, below the store: .*/report\.html\."):
        run_all(stage.platform, OTHER, outcome=WRONG)
    with pytest.raises(reprocess.NotValid, match=r"crashed.* It made no report; what it left, below .*: validations/"):
        run_all(stage.platform, Author("other", "run-3"), outcome={**WRONG, "crashed": True})


@pytest.mark.parametrize("answer", [Answer.REJECTED, Answer.TIMED_OUT])
def test_what_nobody_agreed_to_ends_without_an_error_and_runs_on_for_a_while(
    stage: Stage, author: Author, answer: Answer
) -> None:
    deployed(stage, author)
    done = run_all(stage.platform, OTHER, answer=answer)
    assert ("rejected by bob" if answer is Answer.REJECTED else "timed out") in done.sentence
    assert (done.promoted, serving(stage)) == ({}, BOTH_LIVE)
    assert len(stage.cluster.running()) == 4
    assert stage.releases.open_replays() == []


def test_an_unanswered_question_is_not_gone_round(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    with pytest.raises(promote.NotApproved):
        run_all(stage.platform, OTHER, answer=None)
    assert serving(stage) == BOTH_LIVE


def test_a_candidate_that_gave_up_fails_the_replay_with_its_reason(stage: Stage, author: Author) -> None:
    deployed(stage, author)

    def give_up() -> None:
        if stage.releases.attempts:
            stage.registry.give_up("client_spend", 2, "a gap in the log")

    stage.clock.meanwhile.append(give_up)
    with pytest.raises(catch_up.NeverReady, match=r"client_spend failing: its driver gave up .*a gap in the log"):
        run_all(stage.platform, OTHER)
    assert len(stage.cluster.running()) == 2
    assert stage.releases.open_replays() == []


def test_a_candidate_knows_before_when_nothing_was_appended_that_it_is_to_read(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    now_ms = round(stage.clock.now().timestamp() * 1000)
    stage.log.times = {0: [now_ms - 500_000, now_ms - 1], 1: []}
    planned = plan_reprocess(stage.platform, ReprocessRequest(JOBS))
    found = [one.staged().first_appended for one in planned.candidates]
    assert found == [{0: now_ms - 500_000, 1: now_ms}] * len(JOBS)


def test_a_log_that_drops_what_is_not_read_yet_fails_the_replay(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.clock.meanwhile.clear()
    planned = plan_reprocess(stage.platform, ReprocessRequest(JOBS))
    lease.take_on(stage.platform, "reprocess", BOTH_NEW, OTHER, 3600, 0, lambda _: False)
    reprocess.stage(stage.platform, "reprocess", planned, OTHER)
    pursuit = reprocess.pursue(stage.platform, "reprocess", OTHER)
    assert pursuit is not None
    stage.log.first = {0: 1, 1: 0}
    stage.log.times = {0: [], 1: []}
    with pytest.raises(catch_up.NeverReady, match="the log dropped 1 records of partition 0 before ad_ctr v2"):
        reprocess.reached(stage.platform, "reprocess", catch_up.wait(stage.platform, pursuit), OTHER)


def test_a_deadline_is_kept_through_a_second_try(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    planned = plan_reprocess(stage.platform, ReprocessRequest(JOBS))
    lease.take_on(stage.platform, "reprocess", BOTH_NEW, OTHER, 3600, 0, lambda _: False)
    reprocess.stage(stage.platform, "reprocess", planned, OTHER)
    first = reprocess.pursue(stage.platform, "reprocess", OTHER)
    stage.clock.sleep(100)
    again = reprocess.pursue(stage.platform, "reprocess", OTHER)
    assert first is not None
    assert again is not None
    assert again.deadline == first.deadline


def test_of_two_replays_planned_at_once_the_second_is_refused(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    planned = plan_reprocess(stage.platform, ReprocessRequest(JOBS))
    lease.take_on(stage.platform, "reprocess", BOTH_NEW, OTHER, 3600, 0, lambda _: False)
    third = Author("third", "run-3")
    with pytest.raises(UnderWay, match="run-2"):
        lease.take_on(stage.platform, "reprocess", BOTH_NEW, third, 3600, 0, lambda _: False)
    with pytest.raises(NotHolder):
        reprocess.stage(stage.platform, "reprocess", planned, third)


def test_a_replay_without_free_cores_is_refused(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.cluster.free = 1
    with pytest.raises(NoFreeCores):
        plan_reprocess(stage.platform, ReprocessRequest(JOBS))


def test_the_price_is_read_off_the_log_and_the_live_versions(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.releases.speeds["ad_ctr"] = 50.0
    priced = plan_reprocess(stage.platform, ReprocessRequest(JOBS)).price
    assert (priced.records, priced.bytes, priced.disk_bytes) == (2, 500, 2 * 8192)
    assert (priced.speeds["ad_ctr"], priced.assumed) == (50.0, ("client_spend",))
    assert priced.retention_slack_seconds is None


def test_a_start_is_safe_only_if_what_is_read_before_it_is_there_too(stage: Stage, author: Author) -> None:
    """A start of two minutes ago would be young enough itself; the five minutes before it, which hold the events that
    came early, are not."""
    deployed(stage, author)
    stage.log.topic = replace(stage.log.topic, retention_ms=180_000)
    appended = round(stage.clock.now().timestamp() * 1000) - 170_000
    stage.log.times = {0: [appended], 1: [appended]}
    with pytest.raises(LogWillBeTooShort, match="No later start helps"):
        plan_reprocess(stage.platform, ReprocessRequest(JOBS))


def test_a_closed_span_ends_where_both_live_versions_are_final(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.releases.final["ad_ctr", 1] = stage.clock.now() - timedelta(minutes=10)
    assert closed_span_start(stage.platform, JOBS, 30) == "2026-01-31T11:20:00Z"
    stage.log.first = {0: 1, 1: 0}
    assert closed_span_start(stage.platform, JOBS, 30) == "earliest", "the log does not reach back so far"
    del stage.releases.final["ad_ctr", 1]
    assert closed_span_start(stage.platform, JOBS, 30) == "earliest"
