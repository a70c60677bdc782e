"""One rule for all jobs: what changes results is equal in all that serve; a verb that would part them is refused."""

from __future__ import annotations

import pytest

from kappa.core.audit import Author
from kappa.core.job_catalog import JOBS, resolve
from kappa.core.replays import Answer
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.core.validation import Parity
from kappa.core.verb_steps import ReplayStep
from kappa.verbs import lease
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.deploy.plan import DeployRefused, refuse_if_refused
from kappa.verbs.equal_settings import OtherRules, Ruled, check_one_rule
from kappa.verbs.promote import hand_over
from kappa.verbs.promote import steps as promote
from kappa.verbs.replay.observation import plan_reprocess
from tests.plugins.conftest import Stage
from tests.plugins.replay_runs import deployed, run_all, serving

OTHER, THIRD = Author("other", "run-2", "numbers"), Author("third", "run-3", "back")
HOUR = {"allowed_lateness_ms": 3_600_000}


def ruled(job: str, version: int = 1, **settings: int) -> Ruled:
    """A version of a job with these settings, and the others by default."""
    return Ruled(version, resolve(JOBS[job], settings))


def live(*jobs: str) -> dict[str, Ruled]:
    """Versions with the settings that the catalogue gives."""
    return {job: ruled(job) for job in jobs}


def test_equal_settings_pass_and_so_do_those_that_only_tune() -> None:
    check_one_rule("a promotion", {"ad_ctr": ruled("ad_ctr", 2, cadence_ms=7)}, live("client_spend", "quarantine"))
    check_one_rule("a deployment", {"ad_ctr": ruled("ad_ctr", **HOUR)}, {})


def test_what_parts_them_is_refused_with_a_table_and_both_ways_out() -> None:
    with pytest.raises(OtherRules) as refused:
        check_one_rule("a promotion", {"ad_ctr": ruled("ad_ctr", 2, **HOUR)}, live("client_spend", "quarantine"))
    said = str(refused.value)
    assert "ad_ctr        v2       allowed_lateness_ms  3600000" in said
    assert "client_spend  v1       allowed_lateness_ms  7200000" in said
    assert "quarantine    v1       allowed_lateness_ms  7200000" in said
    assert "./kappa reprocess ad_ctr client_spend quarantine --from earliest --set allowed_lateness_ms=3600000" in said
    assert "click_interval_ms" not in said


def test_a_job_without_the_setting_has_no_part_in_it() -> None:
    thirty = {job: ruled(job, 2, click_interval_ms=30_000) for job in ("ad_ctr", "client_spend")}
    check_one_rule("a promotion", thirty, live("quarantine"))
    with pytest.raises(
        OtherRules, match=r"reprocess ad_ctr client_spend --from earliest --set click_interval_ms=30000"
    ):
        check_one_rule("a promotion", {"ad_ctr": thirty["ad_ctr"]}, live("client_spend", "quarantine"))


def test_a_setting_that_an_old_version_never_had_is_as_by_default() -> None:
    old = Ruled(1, {"cadence_ms": 1_000})
    check_one_rule("a promotion", {"ad_ctr": ruled("ad_ctr", 2)}, {"client_spend": old})


@pytest.mark.parametrize("job", ["client_spend", "quarantine"])
def test_a_first_deployment_beside_other_rules_is_refused(stage: Stage, author: Author, job: str) -> None:
    deployed(stage, author, "ad_ctr")
    with pytest.raises(OtherRules, match="nothing was changed"):
        plan_deploy(stage.platform, DeployRequest(job, settings=HOUR))
    plan_deploy(stage.platform, DeployRequest(job))


def test_of_two_first_deployments_planned_at_once_the_second_is_refused_when_it_stages(
    stage: Stage, author: Author
) -> None:
    one, other = plan_deploy(stage.platform, DeployRequest("ad_ctr")), DeployRequest("client_spend", settings=HOUR)
    planned = plan_deploy(stage.platform, other)
    deploy.stage(stage.platform, one, author)
    with pytest.raises(OtherRules):
        deploy.stage(stage.platform, planned, OTHER)
    assert stage.registry.versions("client_spend") == []


def test_a_refused_deployment_names_the_replay_of_all_jobs_that_have_the_setting(stage: Stage, author: Author) -> None:
    deployed(stage, author, "ad_ctr", "client_spend", "quarantine")
    for setting, jobs in (
        (HOUR, "ad_ctr client_spend quarantine"),
        ({"click_interval_ms": 5_000}, "ad_ctr client_spend"),
    ):
        ((name, value),) = setting.items()
        plan = plan_deploy(stage.platform, DeployRequest("ad_ctr", settings=setting))
        with pytest.raises(DeployRefused, match=f"./kappa reprocess {jobs} --from earliest --set {name}={value}"):
            refuse_if_refused(plan)


def test_a_replay_of_one_job_with_another_rule_is_refused_and_one_of_all_is_not(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    with pytest.raises(OtherRules, match="client_spend  v1 "):
        plan_reprocess(stage.platform, ReprocessRequest(("ad_ctr",), settings=HOUR, parity=Parity.REPORT))
    plan_reprocess(stage.platform, ReprocessRequest(("ad_ctr",), settings={"cadence_ms": 7}))
    both = ReprocessRequest(("ad_ctr", "client_spend"), settings=HOUR, parity=Parity.REPORT)
    assert {c.settings["allowed_lateness_ms"] for c in plan_reprocess(stage.platform, both).candidates} == {3_600_000}


def test_what_is_only_looked_at_may_have_another_rule(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    asked = ReprocessRequest(("ad_ctr",), settings=HOUR, parity=Parity.REPORT, promote=False)
    assert plan_reprocess(stage.platform, asked).steps[-1] is ReplayStep.VALIDATE


def test_a_promotion_is_held_against_what_serves_by_then(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    run_all(stage.platform, OTHER, answer=Answer.TIMED_OUT, settings=HOUR, parity=Parity.REPORT)
    both = ("ad_ctr", "client_spend")
    plan = promote.plan_promote(stage.platform, both, THIRD)
    deployed(stage, author, "quarantine")
    with pytest.raises(OtherRules, match=r"after the promotion of ad_ctr, client_spend[\s\S]*quarantine    v1 "):
        promote.plan_promote(stage.platform, both, THIRD)
    lease.take_on(stage.platform, promote.PROMOTE, plan.hand.targets, THIRD, 3600, 0, lambda _: False)
    with pytest.raises(OtherRules, match="quarantine    v1 "):
        hand_over.hand_over(stage.platform, promote.PROMOTE, plan.hand, THIRD)
    assert serving(stage) == {"ad_ctr": 1, "client_spend": 1}


def test_a_promotion_is_held_against_what_came_to_serve_while_it_waited(
    stage: Stage, author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed(stage, author)
    run_all(stage.platform, OTHER, answer=Answer.TIMED_OUT, settings=HOUR, parity=Parity.REPORT)
    plan = promote.plan_promote(stage.platform, ("ad_ctr", "client_spend"), THIRD)
    lease.take_on(stage.platform, promote.PROMOTE, plan.hand.targets, THIRD, 3600, 0, lambda _: False)
    monkeypatch.setattr(hand_over, "_wait_close", lambda *_: deployed(stage, author, "quarantine"))
    with pytest.raises(OtherRules, match="quarantine    v1 "):
        hand_over.hand_over(stage.platform, promote.PROMOTE, plan.hand, THIRD)
    assert serving(stage) == {"ad_ctr": 1, "client_spend": 1}


def test_a_roll_back_to_another_rule_than_the_others_have_is_refused(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    run_all(stage.platform, OTHER, settings=HOUR, parity=Parity.REPORT)
    plan = plan_deploy(stage.platform, DeployRequest("quarantine", settings=HOUR))
    deploy.carry_out(stage.platform, plan, author, lambda _: None)
    with pytest.raises(OtherRules, match="after the rollback of ad_ctr, client_spend"):
        promote.plan_rollback(stage.platform, ("ad_ctr", "client_spend"))
