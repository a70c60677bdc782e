"""The plan of a deployment, as a value: first, unchanged, resume, refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kappa.core.artifact_files import TamperedArtifact
from kappa.core.audit import Author
from kappa.core.log.topic import Compacted, WrongTimestampType
from kappa.core.refusals import Refusal
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.core.verb_steps import DeployStep, StopStep
from kappa.core.versions import Desired, State
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy, plan_start
from kappa.verbs.deploy.plan import Action, DeployPlan, DeployRefused, refuse_if_refused
from kappa.verbs.drivers.size import DoesNotFit
from kappa.verbs.replay.observation import plan_reprocess
from kappa.verbs.stop.steps import plan_stop
from tests.plugins.conftest import Stage

AD_CTR = DeployRequest("ad_ctr")
FATES, WINDOWS = "plugins/kappa/core/fates.py", "jobs/transforms/windows.py"


@pytest.fixture
def live(stage: Stage, author: Author) -> Stage:
    """The first version of ad_ctr serves."""
    deploy.carry_out(stage.platform, plan_deploy(stage.platform, AD_CTR), author, lambda _: None)
    return stage


def test_the_first_deployment_stages_version_one_from_the_start_of_the_log(stage: Stage) -> None:
    plan = plan_deploy(stage.platform, AD_CTR)
    assert (plan.action, plan.version) == (Action.FIRST, 1)
    assert plan.steps == tuple(DeployStep)[:4]
    assert plan.start is not None
    assert (plan.start.starts_ms, plan.start.offsets) == (None, {0: 0, 1: 0})


def test_a_version_knows_before_when_nothing_was_appended_that_it_is_to_read(stage: Stage) -> None:
    now_ms = round(stage.clock.now().timestamp() * 1000)
    stage.log.times = {0: [now_ms - 500_000, now_ms - 1], 1: []}
    plan = plan_deploy(stage.platform, AD_CTR)
    assert plan.start is not None
    assert plan.start.first_appended == {0: now_ms - 500_000, 1: now_ms}


def test_planning_changes_nothing(stage: Stage) -> None:
    plan_deploy(stage.platform, AD_CTR)
    assert (stage.registry.held, stage.registry.audit, stage.cluster.submissions) == ({}, [], {})


def test_a_plan_survives_json(stage: Stage) -> None:
    plan = plan_deploy(stage.platform, AD_CTR)
    assert DeployPlan.from_json(plan.to_json()) == plan


def test_the_same_again_is_unchanged(live: Stage) -> None:
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", start="latest"))
    assert (plan.action, plan.version, plan.steps) == (Action.UNCHANGED, 1, ())


@pytest.mark.parametrize("action", Action)
def test_a_dry_run_says_what_would_become_of_the_version(stage: Stage, action: Action) -> None:
    plan = replace(plan_deploy(stage.platform, AD_CTR), action=action)
    sentence = deploy.dry_sentence(plan)
    assert sentence.startswith("dry run: ad_ctr v1 would ")
    assert sentence.endswith("; nothing was changed.")


def test_settings_that_are_not_named_stay_as_they_are(stage: Stage, author: Author) -> None:
    first = plan_deploy(stage.platform, DeployRequest("ad_ctr", settings={"cadence_ms": 800}))
    deploy.carry_out(stage.platform, first, author, lambda _: None)
    assert plan_deploy(stage.platform, AD_CTR).action is Action.UNCHANGED


def test_a_stopped_version_is_resumed(live: Stage) -> None:
    live.registry.desire("ad_ctr", 1, Desired.STOPPED)
    assert plan_deploy(live.platform, AD_CTR).action is Action.RESUME
    assert plan_start(live.platform, "ad_ctr").steps == tuple(DeployStep)[1:4]


def test_a_version_without_a_driver_is_resumed(live: Stage) -> None:
    live.cluster.states.clear()
    assert plan_deploy(live.platform, AD_CTR).action is Action.RESUME


def test_other_results_are_refused_with_old_new_and_the_command(live: Stage) -> None:
    old = plan_deploy(live.platform, AD_CTR).wanted.result_digest
    live.change(FATES, "2", "3")
    live.clock.sleep(1)
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", artifact=live.build()))
    assert plan.action is Action.REFUSED
    assert plan.why[0] == f"the result digest was {old} and would be {plan.wanted.result_digest}."
    assert [(d.what, d.old, d.new) for d in plan.differences] == [("plugins/kappa/core/fates.py: LATE", "2", "3")]
    assert "./kappa reprocess ad_ctr --from earliest" in plan.why[1]
    with pytest.raises(DeployRefused, match="v1 is as it was"):
        refuse_if_refused(plan)


def test_a_first_deployment_that_no_host_could_hold_is_refused(stage: Stage) -> None:
    """Its driver would wait for ever, and the deployment fail much later as not ready."""
    stage.cluster.free = 1
    with pytest.raises(DoesNotFit, match="ad_ctr would take 2 cores of the cluster, which has 1 for it"):
        plan_deploy(stage.platform, AD_CTR)
    stage.cluster.free = 2
    assert plan_deploy(stage.platform, AD_CTR).action is Action.FIRST


def test_more_executors_than_fit_are_refused_in_place_and_the_present_size_never_is(live: Stage) -> None:
    live.cluster.free = 2
    with pytest.raises(DoesNotFit, match="would take 5 cores of the cluster, which has 4 for it"):
        plan_deploy(live.platform, DeployRequest("ad_ctr", settings={"executors": 2}))
    live.cluster.free = 0
    assert plan_deploy(live.platform, DeployRequest("ad_ctr", settings={"cadence_ms": 800})).action is Action.IN_PLACE
    assert plan_deploy(live.platform, AD_CTR).action is Action.UNCHANGED


def test_a_result_setting_is_refused_and_named_in_the_command(live: Stage) -> None:
    given = {"allowed_lateness_ms": 60_000, "cadence_ms": 7}
    plan = plan_deploy(live.platform, DeployRequest("ad_ctr", settings=given))
    assert plan.action is Action.REFUSED
    assert ("allowed_lateness_ms", "7200000", "60000") in [(d.what, d.old, d.new) for d in plan.differences]
    assert plan.why[1].endswith("./kappa reprocess ad_ctr --from earliest --set allowed_lateness_ms=60000.")


def test_another_topic_of_that_name_is_another_state(live: Stage) -> None:
    live.log.topic = type(live.log.topic)("ad_events", "topic-two", (0, 1), "LogAppendTime")
    plan = plan_deploy(live.platform, AD_CTR)
    assert plan.action is Action.REFUSED
    assert "state digest" in plan.why[0]
    assert [(d.what, d.old, d.new) for d in plan.differences] == [("topic id", "topic-one", "topic-two")]


def test_a_failed_version_that_never_served_gives_way_to_the_next(stage: Stage, author: Author) -> None:
    deploy.stage(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    stage.registry.set_state("ad_ctr", 1, State.STAGED, State.FAILED)
    plan = plan_deploy(stage.platform, AD_CTR)
    assert (plan.action, plan.version, plan.replaces) == (Action.FIRST, 2, None)


def test_a_failed_version_that_serves_is_started_again(live: Stage) -> None:
    live.registry.set_state("ad_ctr", 1, State.LIVE, State.FAILED)
    plan = plan_deploy(live.platform, AD_CTR)
    assert (plan.action, plan.version) == (Action.RESUME, 1)


def test_an_unfinished_deployment_of_other_code_is_given_up(stage: Stage, author: Author) -> None:
    deploy.stage(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    stage.change(FATES, "2", "3")
    stage.clock.sleep(1)
    plan = plan_deploy(stage.platform, DeployRequest("ad_ctr", artifact=stage.build()))
    assert (plan.action, plan.version, plan.replaces) == (Action.FIRST, 2, 1)
    deploy.carry_out(stage.platform, plan, author, lambda _: None)
    assert [v.state for v in stage.registry.versions("ad_ctr")] == [State.FAILED, State.LIVE]


def test_a_version_that_was_to_be_given_up_and_serves_by_now_serves_on(stage: Stage, author: Author) -> None:
    """A run planned that and did not get to it; its task is cleared once another run has finished the version."""
    first = plan_deploy(stage.platform, AD_CTR)
    deploy.stage(stage.platform, first, author)
    stage.change(FATES, "2", "3")
    stage.clock.sleep(1)
    stale = plan_deploy(stage.platform, DeployRequest("ad_ctr", artifact=stage.build()))
    deploy.carry_out(stage.platform, first, author, lambda _: None)
    with pytest.raises(Refusal, match=r"ad_ctr v1 is LIVE by now.* for v2.*Clear the run from its first task on"):
        deploy.stage(stage.platform, stale, replace(author, run_id="run-2"))
    assert [v.state for v in stage.registry.versions("ad_ctr")] == [State.LIVE]
    assert len(stage.cluster.running()) == 1


def test_a_changed_artifact_is_not_deployed(stage: Stage) -> None:
    driver = stage.platform.settings.artifacts / stage.build() / "jobs" / "run.py"
    driver.chmod(0o644)
    driver.write_text("print('evil')\n")
    with pytest.raises(TamperedArtifact):
        plan_deploy(stage.platform, AD_CTR)


def test_stopping_what_is_stopped_takes_no_step(live: Stage) -> None:
    assert plan_stop(live.platform, "ad_ctr").steps == tuple(StopStep)
    live.registry.desire("ad_ctr", 1, Desired.STOPPED)
    live.registry.end_launch(next(iter(live.registry.launches)))
    assert plan_stop(live.platform, "ad_ctr").steps == ()


@pytest.mark.parametrize(
    ("policy", "stamp", "refusal"),
    [
        ("compact", "LogAppendTime", Compacted),
        ("compact,delete", "LogAppendTime", Compacted),
        ("delete", "CreateTime", WrongTimestampType),
    ],
)
def test_a_topic_that_loses_records_or_is_not_stamped_is_not_deployed_on_nor_replayed(
    live: Stage, policy: str, stamp: str, refusal: type[Refusal]
) -> None:
    live.log.topic = replace(live.log.topic, cleanup_policy=policy, timestamp_type=stamp)
    with pytest.raises(refusal, match="ad_events"):
        plan_deploy(live.platform, AD_CTR)
    with pytest.raises(refusal, match="ad_events"):
        plan_reprocess(live.platform, ReprocessRequest(("ad_ctr",)))
