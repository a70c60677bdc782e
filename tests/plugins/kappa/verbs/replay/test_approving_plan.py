"""Who has to agree to a promotion, and who may: the stricter rule counts, and nobody answers oneself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from kappa.core.job_catalog import JOBS, Job
from kappa.core.replays import Answer, Approval, Replay
from kappa.core.validation import Parity
from kappa.verbs.replay.approvers import (
    NobodyAnswered,
    NotValidated,
    OwnRequest,
    WasRejected,
    answer_sentence,
    check_approver,
    check_promotable,
)
from kappa.verbs.replay.plan import LaxerThanPolicy, decide_approval

ASK, AUTO = Approval.ASK, Approval.AUTO
REPLAY = Replay(UUID(int=1), "run-1", {"ad_ctr": 2, "client_spend": 5}, {"ad_ctr": 1, "client_spend": 4}, None,
                Parity.EXACT, (), ASK, True, "anna", "because", validation={"success": True})  # fmt: skip


def jobs(*policies: Approval) -> list[Job]:
    """Jobs of these policies."""
    return [replace(job, approval=policy) for job, policy in zip(JOBS.values(), policies, strict=False)]


def test_every_job_of_the_catalogue_asks_by_default() -> None:
    assert {job.approval for job in JOBS.values()} == {ASK}
    assert Job("new", "", (), "", ()).approval is ASK


@pytest.mark.parametrize(
    ("policies", "asked", "decided"),
    [
        ([AUTO], None, AUTO),
        ([AUTO], AUTO, AUTO),
        ([AUTO], ASK, ASK),
        ([ASK], None, ASK),
        ([ASK], ASK, ASK),
        ([AUTO, ASK], None, ASK),
        ([AUTO, AUTO], None, AUTO),
    ],
)
def test_the_strictest_of_the_policies_and_the_request_counts(
    policies: list[Approval], asked: Approval | None, decided: Approval
) -> None:
    assert decide_approval(jobs(*policies), asked) is decided


def test_a_request_that_is_laxer_than_a_policy_is_refused_and_names_the_job() -> None:
    with pytest.raises(LaxerThanPolicy, match=r"the policy of client_spend is to ask .* nothing was changed"):
        decide_approval(jobs(AUTO, ASK), AUTO)


def test_nobody_approves_what_he_asked_for_and_anybody_else_does() -> None:
    check_approver(REPLAY, "ben")
    with pytest.raises(OwnRequest) as refused:
        check_approver(REPLAY, "anna")
    assert str(refused.value) == (
        "anna asked for the replay of ad_ctr v2, client_spend v5, and anna would approve it: somebody else has to "
        "agree. Nothing was promoted. Another person who may answer in Airflow does so on the page of the run, or by "
        "./kappa login --user NAME and ./kappa promote ad_ctr client_spend --reason TEXT; on the embedded stack by "
        "./kappa promote ad_ctr client_spend --as approver --reason TEXT."
    )


def test_who_typed_a_command_does_not_become_somebody_else_by_it() -> None:
    for asked, approves in (("bob as anna", "anna"), ("anna", "bob as anna"), ("x as ben as anna", "carl as anna")):
        with pytest.raises(OwnRequest):
            check_approver(replace(REPLAY, asked_by=asked), approves)
    check_approver(replace(REPLAY, asked_by="bob as anna"), "bob as ben")


@pytest.mark.parametrize("who", [None, ""])
def test_an_approval_without_a_name_is_nobodys(who: str | None) -> None:
    with pytest.raises(NobodyAnswered, match="does not say who approved the replay of ad_ctr v2, client_spend v5"):
        check_approver(REPLAY, who)


def test_a_schedule_that_asked_is_answered_by_anybody() -> None:
    check_approver(replace(REPLAY, asked_by="airflow"), "anna")


@pytest.mark.parametrize("validation", [None, {}, {"success": False}, {"crashed": True}])
def test_what_did_not_pass_a_validation_is_not_promoted(validation: dict[str, Any] | None) -> None:
    with pytest.raises(NotValidated, match=r"ad_ctr v2, client_spend v5 .* Nothing was changed"):
        check_promotable(replace(REPLAY, validation=validation))


def test_a_rejection_is_not_gone_round_by_hand_but_a_time_out_may_be() -> None:
    with pytest.raises(WasRejected, match="rejected by ben"):
        check_promotable(replace(REPLAY, answer="rejected", answered_by="ben"))
    check_promotable(replace(REPLAY, answer="timed out"))
    check_promotable(REPLAY)


def test_the_note_says_who_answered() -> None:
    assert answer_sentence(Answer.REJECTED, "ben") == "rejected by ben"
    assert answer_sentence(Answer.APPROVED, None) == "approved by nobody known"
    assert answer_sentence(Answer.TIMED_OUT, None) == "timed out"
