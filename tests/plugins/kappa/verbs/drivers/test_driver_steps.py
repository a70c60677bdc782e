"""The steps of a deployment, a stop and a start: idempotent, and one driver at the end."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from kappa.cluster import DriverState
from kappa.core.audit import Author
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.versions import (
    BEGINNING,
    OPEN_END,
    Desired,
    Heartbeat,
    IllegalTransition,
    Launch,
    Segment,
    State,
    check_transition,
)
from kappa.platform import Platform
from kappa.registry.port import StagedByAnother
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy, plan_start
from kappa.verbs.deploy.plan import DeployPlan
from kappa.verbs.drivers.launch import ServesNoMore, ensure_running, launch
from kappa.verbs.drivers.readiness import NotReady, wait_ready, words_of
from kappa.verbs.stop.steps import plan_stop, stop
from tests.plugins.conftest import Stage
from tests.plugins.kills import Death

AD_CTR = DeployRequest("ad_ctr")
OTHER = Author("other", "run-2")


def run_all(platform: Platform, plan: DeployPlan, by: Author) -> None:
    """The steps of the plan."""
    deploy.carry_out(platform, plan, by, lambda _: None)


def test_a_driver_that_claims_in_time_is_not_submitted_again(stage: Stage, author: Author) -> None:
    plan = plan_deploy(stage.platform, AD_CTR)
    deploy.stage(stage.platform, plan, author)
    with Death(5).process(stage.platform) as lost:
        launch(lost, "ad_ctr", 1)
    assert len(stage.cluster.submissions) == 1
    assert launch(stage.platform, "ad_ctr", 1).driver == "driver-0"
    assert len(stage.cluster.submissions) == 1


@pytest.mark.parametrize("state", [DriverState.FAILED, DriverState.KILLED, DriverState.ERROR, DriverState.GONE])
def test_a_launch_whose_driver_is_gone_is_ended_and_made_anew(stage: Stage, author: Author, state: DriverState) -> None:
    run_all(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    stage.cluster.states["driver-0"] = state
    again = launch(stage.platform, "ad_ctr", 1)
    assert again.submission_id == "driver-1"
    assert [known.ended for known in stage.registry.launches.values()] == [True, False]


def test_everything_done_twice_is_done_once(stage: Stage, author: Author) -> None:
    plan = plan_deploy(stage.platform, AD_CTR)
    for _ in range(2):
        run_all(stage.platform, plan, author)
    assert (len(stage.cluster.submissions), stage.registry.releases) == (1, 1)


def test_of_two_first_deployments_at_once_the_second_ends_with_the_reason(stage: Stage, author: Author) -> None:
    plan = plan_deploy(stage.platform, AD_CTR)
    deploy.stage(stage.platform, plan, author)
    with pytest.raises(StagedByAnother, match="run-1"):
        deploy.stage(stage.platform, plan, OTHER)


def test_a_driver_that_ends_is_not_ready(stage: Stage, author: Author) -> None:
    plan = plan_deploy(stage.platform, AD_CTR)
    deploy.stage(stage.platform, plan, author)
    started = launch(stage.platform, "ad_ctr", 1)
    stage.cluster.states["driver-0"] = DriverState.ERROR
    with pytest.raises(NotReady, match="Spark says ERROR"):
        wait_ready(stage.platform, started)


def test_a_version_that_gave_up_is_not_ready_and_says_why(stage: Stage, author: Author) -> None:
    deploy.stage(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    started = launch(stage.platform, "ad_ctr", 1)
    stage.registry.set_state("ad_ctr", 1, State.STAGED, State.FAILED)
    stage.registry.lines["ad_ctr", 1] = ["checkpoint: a gap"]
    with pytest.raises(NotReady, match=r"gave up.*checkpoint: a gap.*driver-0/stdout"):
        wait_ready(stage.platform, started)


def test_a_silent_driver_is_not_ready_when_the_time_is_over(stage: Stage, author: Author) -> None:
    stage.cluster.slow = type(stage.cluster.slow)(days=1)
    deploy.stage(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    with pytest.raises(NotReady, match="not ready after 60 s; it is left running"):
        wait_ready(stage.platform, launch(stage.platform, "ad_ctr", 1), 60)


def test_another_drivers_heartbeat_makes_nobody_ready(stage: Stage, author: Author) -> None:
    deploy.stage(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    stage.cluster.slow = type(stage.cluster.slow)(days=1)
    started = launch(stage.platform, "ad_ctr", 1)
    stage.clock.sleep(1)
    later = stage.clock.now()
    stage.registry.beats["ad_ctr", 1] = Heartbeat(1, "driver-of-before", later, 0.0, later)
    with pytest.raises(NotReady):
        wait_ready(stage.platform, started, 3)


def test_a_quiet_topic_is_ready_without_a_batch(stage: Stage, author: Author) -> None:
    run_all(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    key, opened = ("ad_ctr", 1), stage.registry.open_launch("ad_ctr", 1)
    assert opened is not None
    stage.clock.meanwhile.clear()
    stage.registry.beats[key] = replace(stage.registry.beats[key], committed_at=None)
    with pytest.raises(NotReady):
        wait_ready(stage.platform, opened, 3)
    stage.registry.beats[key] = replace(stage.registry.beats[key], beat_at=stage.clock.now())
    stage.registry.drained[key] = stage.clock.now()
    wait_ready(stage.platform, opened, 3)


def test_a_first_version_that_gave_up_does_not_serve_however_often_its_steps_are_repeated(
    stage: Stage, author: Author
) -> None:
    plan = plan_deploy(stage.platform, AD_CTR)
    deploy.stage(stage.platform, plan, author)
    stage.registry.set_state("ad_ctr", 1, State.STAGED, State.FAILED)
    for step in (deploy.start, lambda platform, plan, _: deploy.ready(platform, plan)):
        with pytest.raises(deploy.GaveUp, match="the version does not serve"):
            step(stage.platform, plan, author)
    assert stage.cluster.submissions == {}
    assert stage.registry.segments("ad_ctr") == []


def test_stopping_lets_the_driver_finish(stage: Stage, author: Author) -> None:
    run_all(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    sentence = stop(stage.platform, plan_stop(stage.platform, "ad_ctr"), author)
    assert sentence == "ad_ctr v1 is stopped; its last batch was finished."
    assert stage.cluster.states["driver-0"] is DriverState.FINISHED
    assert stage.registry.epochs["ad_ctr", 1] == 0
    assert "stopped already" in stop(stage.platform, plan_stop(stage.platform, "ad_ctr"), author)


def test_a_driver_that_does_not_obey_is_shut_out_and_killed(stage: Stage, author: Author) -> None:
    run_all(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    stage.cluster.obedient = False
    assert "shut out and killed" in stop(stage.platform, plan_stop(stage.platform, "ad_ctr"), author)
    assert stage.cluster.states["driver-0"] is DriverState.KILLED
    assert stage.registry.epochs["ad_ctr", 1] == 1
    assert "stop.forced" in [entry.action for entry in stage.registry.entries(author.run_id)]


def test_what_a_driver_says_of_itself_is_looked_for_where_it_ran(stage: Stage) -> None:
    launch = Launch(uuid4(), "ad_ctr", 1, stage.platform.clock.now(), "driver-0")
    here = stage.platform.settings
    elsewhere = replace(here, postgres=replace(here.postgres, host="pg"))
    assert words_of(here, launch) == f"{here.home}/spark/driver-0/stdout"
    assert words_of(elsewhere, launch) == "driver-0/stdout, in the work folder of the Spark worker that it ran on"


def test_start_after_stop_runs_the_same_again(stage: Stage, author: Author) -> None:
    run_all(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    stop(stage.platform, plan_stop(stage.platform, "ad_ctr"), author)
    run_all(stage.platform, plan_start(stage.platform, "ad_ctr"), author)
    assert stage.cluster.running() == ["driver-1"]
    assert stage.registry.held["ad_ctr", 1].desired is Desired.RUNNING


def test_a_version_that_gave_up_and_serves_is_live_again_after_a_start(stage: Stage, author: Author) -> None:
    run_all(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    stage.registry.set_state("ad_ctr", 1, State.LIVE, State.FAILED)
    stage.cluster.kill(uuid4(), ["driver-0"])
    run_all(stage.platform, plan_start(stage.platform, "ad_ctr"), author)
    assert stage.registry.held["ad_ctr", 1].state is State.LIVE


def test_a_version_that_gave_up_and_was_replaced_since_the_plan_is_not_started(stage: Stage, author: Author) -> None:
    run_all(stage.platform, plan_deploy(stage.platform, AD_CTR), author)
    stage.registry.set_state("ad_ctr", 1, State.LIVE, State.FAILED)
    stage.cluster.kill(uuid4(), ["driver-0"])
    plan = plan_start(stage.platform, "ad_ctr")
    stage.registry.served["ad_ctr"] = [Segment("ad_ctr", BEGINNING, OPEN_END, 2)]
    with pytest.raises(ServesNoMore, match=r"v1 gave up.*\(v2 does\).*stays FAILED"):
        run_all(stage.platform, plan, author)
    assert stage.registry.held["ad_ctr", 1].state is State.FAILED
    assert stage.cluster.running() == []


def test_after_a_restart_of_the_cluster_what_is_wanted_runs_again(stage: Stage, author: Author) -> None:
    for job in ("ad_ctr", "client_spend"):
        run_all(stage.platform, plan_deploy(stage.platform, DeployRequest(job)), author)
    stop(stage.platform, plan_stop(stage.platform, "client_spend"), author)
    assert ensure_running(stage.platform) == []
    stage.cluster.states.clear()
    assert ensure_running(stage.platform) == ["ad_ctr v1"]
    assert len(stage.cluster.running()) == 1


def test_a_version_takes_only_a_state_that_may_follow() -> None:
    check_transition("ad_ctr", 1, State.CAUGHT_UP, State.LIVE)
    with pytest.raises(IllegalTransition, match="RETIRED and cannot become LIVE"):
        check_transition("ad_ctr", 1, State.RETIRED, State.LIVE)
