"""A repair whose plan is out of date by the time that it holds the version: what was done meanwhile stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kappa.cluster import DriverState
from kappa.core.audit import Author
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.versions import Desired, State
from kappa.verbs import lease
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy, plan_start
from kappa.verbs.repair import steps as repair
from kappa.verbs.repair.plan import Action, RepairPlan
from kappa.verbs.stop import steps as stop
from tests.plugins.conftest import Stage
from tests.plugins.kill_trials import gone, silent

JOB = "ad_ctr"
OPERATOR, REPAIR = Author("operator", "run-stop", "maintenance"), Author("airflow", "run-repair")
Trouble = Callable[[Stage], None]


@pytest.fixture
def deployed(stage: Stage, author: Author) -> Stage:
    """A live first version."""
    deploy.carry_out(stage.platform, plan_deploy(stage.platform, DeployRequest(JOB)), author, lambda _: None)
    return stage


def keeps_dying(stage: Stage) -> None:
    """The driver was started again three times within the hour, and is gone once more."""
    for number in range(4):
        for driver in stage.cluster.running():
            stage.cluster.states[driver] = DriverState.ERROR
        if number < 3:
            repair.carry_out(stage.platform, repair.plan_repair(stage.platform, JOB), REPAIR)
            stage.clock.sleep(400)


def planned(stage: Stage, action: Action) -> RepairPlan:
    """A repair's plan, which has this one act."""
    plan = repair.plan_repair(stage.platform, JOB)
    assert [finding.action for finding in plan.acts] == [action]
    return plan


def stopped(stage: Stage) -> None:
    """An operator stops the job, under a lease that is given back."""
    lease.take(stage.platform, stop.VERB, JOB, OPERATOR, 600, 0, lambda _: False)
    stop.stop(stage.platform, stop.plan_stop(stage.platform, JOB), OPERATOR, seconds=3)
    lease.release(stage.platform, OPERATOR)


TROUBLES = [(gone, Action.RESTART), (silent, Action.REPLACE), (keeps_dying, Action.GIVE_UP)]


@pytest.mark.parametrize(("trouble", "action"), TROUBLES, ids=[action for _, action in TROUBLES])
def test_a_stop_between_plan_and_lease_stays_a_stop(deployed: Stage, trouble: Trouble, action: Action) -> None:
    trouble(deployed)
    plan = planned(deployed, action)
    stopped(deployed)
    said = repair.carry_out(deployed.platform, plan, REPAIR)
    deployed.clock.sleep(60)
    (version,) = deployed.registry.versions(JOB)
    assert (version.state, version.desired) == (State.LIVE, Desired.STOPPED)
    assert deployed.cluster.running() == []
    assert f"ad_ctr v1 is left: planned was '{action}', by now it would be 'leave: is wanted stopped'" in said
    assert deployed.registry.leases == {}


def test_a_driver_that_was_started_between_plan_and_lease_runs_on(deployed: Stage) -> None:
    silent(deployed)
    plan = planned(deployed, Action.REPLACE)
    stopped(deployed)
    deploy.carry_out(deployed.platform, plan_start(deployed.platform, JOB), OPERATOR, lambda _: None)
    epoch = deployed.registry.epochs[JOB, 1]
    said = repair.carry_out(deployed.platform, plan, REPAIR)
    assert deployed.cluster.running() == ["driver-1"]
    assert deployed.registry.epochs[JOB, 1] == epoch
    assert "is left: planned was 'replace', by now it would be 'leave: runs and does its work'" in said


def test_a_version_that_was_retired_between_plan_and_lease_is_left(deployed: Stage) -> None:
    gone(deployed)
    plan = planned(deployed, Action.RESTART)
    deployed.registry.served.clear()
    deployed.registry.alter(JOB, 1, state=State.RETIRED, desired=Desired.STOPPED)
    assert "is left: planned was 'restart', by now it is over" in repair.carry_out(deployed.platform, plan, REPAIR)
    assert deployed.registry.versions(JOB)[0].desired is Desired.STOPPED


def test_a_replacement_that_was_cut_short_is_carried_to_its_end(deployed: Stage) -> None:
    silent(deployed)
    plan = planned(deployed, Action.REPLACE)
    stop.shut_out(deployed.platform, JOB, 1, REPAIR)
    said = repair.carry_out(deployed.platform, plan, REPAIR)
    assert "ad_ctr v1 was started again (is wanted running and has no driver" in said
    assert deployed.cluster.running() == ["driver-1"]


def test_what_is_done_says_what_was_found_under_the_lease(deployed: Stage) -> None:
    silent(deployed)
    plan = planned(deployed, Action.REPLACE)
    deployed.clock.meanwhile.clear()
    deployed.clock.sleep(100)
    said = repair.carry_out(deployed.platform, plan, REPAIR)
    assert "ad_ctr v1 was started again (its driver runs by the cluster, but gave no heartbeat for 300 s" in said
