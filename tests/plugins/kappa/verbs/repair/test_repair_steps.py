"""The steps of a repair: what is wanted and gone comes back, what a verb holds is left to it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from kappa.cluster import DriverState, SubmissionRefused
from kappa.core.audit import Author
from kappa.core.changes import RunsAs
from kappa.core.installation.settings import Settings
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.versions import Desired, State
from kappa.unavailable import Unreachable
from kappa.verbs import lease
from kappa.verbs.change import steps as change
from kappa.verbs.change.recovery import CheckpointHeld
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.repair import steps as repair
from kappa.verbs.stop import steps as stop
from tests.plugins.conftest import Stage

JOB = "ad_ctr"
REPAIR = Author("airflow", "run-repair")


def deployed(stage: Stage, by: Author, job: str = JOB, artifact: str = "") -> None:
    """A live first version, of the newest artifact unless one is named."""
    deploy.carry_out(
        stage.platform, plan_deploy(stage.platform, DeployRequest(job, artifact=artifact)), by, lambda _: None
    )


def repaired(stage: Stage) -> str:
    """What a repair of the job says it did."""
    said = repair.carry_out(stage.platform, repair.plan_repair(stage.platform, JOB), REPAIR)
    stage.clock.sleep(10)
    return said


def test_a_job_that_does_its_work_is_left_alone(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    assert repaired(stage) == "nothing to repair."
    assert len(stage.cluster.submissions) == 1


def test_a_driver_that_is_gone_is_started_again_once(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.cluster.states["driver-0"] = DriverState.ERROR
    assert "ad_ctr v1 was started again" in repaired(stage)
    assert repaired(stage) == "nothing to repair."
    assert stage.cluster.running() == ["driver-1"]


def test_a_silent_driver_is_shut_out_before_another_starts(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    epoch = stage.registry.epochs[JOB, 1]
    stage.cluster.broken.add(stage.registry.versions(JOB)[0].artifact)
    stage.clock.sleep(200)
    stage.cluster.broken.clear()
    repaired(stage)
    assert stage.registry.epochs[JOB, 1] == epoch + 1
    assert stage.cluster.running() == ["driver-1"]


def test_a_version_that_keeps_dying_is_given_up_and_red(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    for _ in range(4):
        for driver in stage.cluster.running():
            stage.cluster.states[driver] = DriverState.ERROR
        said = repaired(stage)
        stage.clock.sleep(400)
    assert "was given up" in said
    assert stage.registry.versions(JOB)[0].state is State.FAILED
    assert stage.cluster.running() == []


def test_tries_that_started_no_driver_do_not_count_as_restarts(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.cluster.states["driver-0"] = DriverState.ERROR
    stage.registry.occupied.add((JOB, 1))
    for _ in range(4):
        with suppress(CheckpointHeld):
            repaired(stage)
        stage.clock.sleep(400)
    assert stage.registry.versions(JOB)[0].state is State.LIVE
    assert stage.registry.health(JOB, 1).repairs == ()
    stage.registry.occupied.clear()
    assert "ad_ctr v1 was started again" in repaired(stage)


def test_a_job_that_cannot_be_repaired_keeps_no_other_from_it(stage: Stage, author: Author) -> None:
    for number, job in enumerate((JOB, "client_spend")):
        deployed(stage, author, job)
        stage.cluster.states[f"driver-{number}"] = DriverState.ERROR
    stage.registry.occupied.add((JOB, 1))
    with pytest.raises(CheckpointHeld, match="ad_ctr v1: Spark work"):
        repair.carry_out(stage.platform, repair.plan_repair(stage.platform), REPAIR)
    stage.clock.sleep(10)
    launch = stage.registry.open_launch("client_spend", 1)
    assert launch is not None
    assert stage.cluster.running() == [launch.driver]
    (done,) = (entry for entry in stage.registry.entries(REPAIR.run_id) if entry.action == "repair.done")
    assert "ad_ctr v1 could not be repaired (ad_ctr v1: Spark work" in done.evidence["sentence"]
    assert "client_spend v1 was started again" in done.evidence["sentence"]
    assert stage.registry.leases == {}


def outage(stage: Stage, minutes: int) -> None:
    """The broker is away, so no driver commits, and repair looks every minute."""
    stage.log.away = True
    for _ in range(minutes):
        stage.clock.sleep(60)
        repaired(stage)


@pytest.mark.fault("F13", "the jobs stand still while the broker is away, nothing is restarted or given up for it")
def test_half_an_hour_without_the_log_leaves_nothing_failed_and_nothing_restarted(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    committed = stage.registry.beats[JOB, 1].committed_at
    stage.clock.meanwhile.append(lambda: _stand_still(stage, committed))
    outage(stage, 30)
    stage.log.away = False
    for _ in range(4):
        assert "nothing to repair" in repaired(stage), "it is given time"
        stage.clock.sleep(50)
    stage.clock.meanwhile.pop()
    stage.registry.lags.clear()
    stage.clock.sleep(600)
    assert repaired(stage) == "nothing to repair."
    assert stage.registry.versions(JOB)[0].state is State.LIVE
    assert len(stage.cluster.submissions) == 1


def test_a_driver_that_does_not_come_back_with_the_log_is_replaced(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    committed = stage.registry.beats[JOB, 1].committed_at
    stage.clock.meanwhile.append(lambda: _stand_still(stage, committed))
    outage(stage, 30)
    stage.log.away = False
    repaired(stage)
    stage.clock.sleep(301)
    assert "was started again" in repaired(stage)


def test_what_a_verb_holds_is_not_touched(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    lease.take(stage.platform, "rescale", JOB, author, 900, 0, lambda _: False)
    stage.cluster.states["driver-0"] = DriverState.ERROR
    assert repaired(stage) == "nothing to repair."
    assert stage.cluster.running() == []


def test_what_a_dead_run_holds_is_repaired(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    lease.take(stage.platform, "rescale", JOB, author, 900, 0, lambda _: False)
    stage.cluster.states["driver-0"] = DriverState.ERROR
    plan = repair.plan_repair(stage.platform, JOB, lambda _: True)
    assert "was started again" in repair.carry_out(stage.platform, plan, REPAIR, lambda _: True)


def test_a_change_that_nobody_holds_is_settled(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    (version,) = stage.registry.versions(JOB)
    old = RunsAs(version.artifact, version.settings, version.generation)
    begun = change.begin(stage.platform, "deploy", JOB, 1, old, old, author)
    change.hold(stage.platform, begun, author)
    assert "was undone" in repaired(stage)
    assert stage.registry.versions(JOB)[0].desired is Desired.RUNNING
    assert stage.cluster.running() == ["driver-1"]


def _stand_still(stage: Stage, committed: datetime | None = None) -> None:
    """The driver beats, and commits nothing while records wait."""
    beat = stage.registry.beats[JOB, 1]
    stage.registry.beats[JOB, 1] = replace(beat, committed_at=committed or beat.committed_at)
    stage.registry.lags[JOB, 1] = (500, 3600.0)


def test_where_the_settings_ask_for_it_a_second_driver_stands_by_for_what_is_live(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.platform = replace(stage.platform, settings=asking_for_standbys(stage))
    stage.cluster.stands_by = True
    program(stage).write_text("def await_failover(): ...")
    assert repaired(stage) == "a driver stands by for that of ad_ctr v1 soon."
    launch = stage.registry.open_launch(JOB, 1)
    assert launch is not None
    assert (launch.claimed_by, launch.standby) == ("driver-0", "driver-1")
    assert repaired(stage) == "nothing to repair."
    stage.cluster.states["driver-1"] = DriverState.FAILED
    assert repaired(stage) == "a driver stands by for that of ad_ctr v1 soon."
    stage.cluster.free = 0
    stage.cluster.states["driver-2"] = DriverState.FAILED
    assert repaired(stage) == "nothing to repair."
    assert stage.cluster.running() == ["driver-0"]


def test_a_version_that_is_deployed_again_has_a_standby_at_once_and_needs_no_repair(
    stage: Stage, author: Author
) -> None:
    stage.take_own_code()
    own = stage.build()
    deployed(stage, author, artifact=own)
    stage.platform = replace(stage.platform, settings=asking_for_standbys(stage))
    stage.cluster.stands_by = True
    stop.stop(stage.platform, stop.plan_stop(stage.platform, JOB), author)
    deployed(stage, author, artifact=own)
    launch = stage.registry.open_launch(JOB, 1)
    assert launch is not None
    assert launch.standby == stage.cluster.running()[-1] != launch.claimed_by
    assert repaired(stage) == "nothing to repair."


@pytest.mark.parametrize("refusal", [Unreachable("spark", "a:1", "no"), SubmissionRefused("kappa-ad_ctr-v1", "no")])
def test_a_deployment_serves_though_the_cluster_gives_no_standby(
    stage: Stage, author: Author, refusal: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise refusal

    monkeypatch.setattr(deploy, "stands_by", refuse)
    deployed(stage, author)
    assert stage.registry.versions(JOB)[0].state is State.LIVE


def program(stage: Stage) -> Path:
    """By which the drivers of the version stand by."""
    file = stage.platform.settings.artifacts / stage.registry.versions(JOB)[0].artifact / "jobs" / "standby.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def asking_for_standbys(stage: Stage) -> Settings:
    settings = stage.platform.settings
    return replace(settings, supervision=replace(settings.supervision, warm_standby=True))


def test_none_stands_by_whose_code_would_take_the_launch_from_the_driver_at_work(stage: Stage, author: Author) -> None:
    deployed(stage, author)
    stage.platform = replace(stage.platform, settings=asking_for_standbys(stage))
    program(stage).write_text("def stand_by(): ...")
    assert repaired(stage) == "nothing to repair."
    assert len(stage.cluster.submissions) == 1
