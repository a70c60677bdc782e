"""A run that is killed around any of its calls and run again, or is settled by another one: one driver, no half."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from kappa.changes import ENDED, Mark, Phase, RunsAs
from kappa.hooks.registry import Author
from kappa.hooks.spark import DriverState
from kappa.ports import Platform
from kappa.states import Desired, State
from kappa.steps import change as changing
from kappa.steps import deploy, lease, repair, stop
from kappa.steps.observe import DeployRequest, plan_deploy, plan_start, plan_stop

from tests.plugins.change_runs import JOB, deployed, now, repartition, run_all, tuned, wider
from tests.plugins.conftest import Stage
from tests.plugins.kills import Death, killed_anywhere

Stages = Callable[[], Stage]
OTHER = Author("other", "run-2")


def first(stage: Stage) -> tuple[State, Desired]:
    """What the registry says of version 1."""
    (version,) = stage.platform.registry.versions(JOB)
    return version.state, version.desired


def claimed(stage: Stage) -> str | None:
    """The driver of the open launch of version 1."""
    opened = stage.platform.registry.open_launch(JOB, 1)
    return opened.driver if opened else None


@pytest.mark.parametrize("slow_seconds", [1, 25])
def test_a_deployment(stages: Stages, author: Author, slow_seconds: int) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        stage.cluster.slow = timedelta(seconds=slow_seconds)
        plan = plan_deploy(stage.platform, DeployRequest(JOB))
        with death.process(stage.platform) as mortal:
            deploy.carry_out(mortal, plan, author, lambda _: None)
        deploy.carry_out(stage.platform, plan, author, lambda _: None)
        stage.clock.sleep(120)
        assert stage.cluster.running() == [claimed(stage)]
        assert first(stage) == (State.LIVE, Desired.RUNNING)
        assert len(stage.platform.releases.releases()) == 1

    assert {"registry.stage", "cluster.submit", "registry.go_live", "registry.record"} <= killed_anywhere(trial)


@pytest.mark.parametrize("obedient", [True, False])
def test_a_stop(stages: Stages, author: Author, obedient: bool) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        deployed(stage, author)
        stage.cluster.obedient = obedient
        plan = plan_stop(stage.platform, JOB)
        with death.process(stage.platform) as mortal:
            stop.stop(mortal, plan, OTHER, seconds=3)
        stop.stop(stage.platform, plan, OTHER, seconds=3)
        assert (stage.cluster.running(), claimed(stage)) == ([], None)
        assert first(stage) == (State.LIVE, Desired.STOPPED)

    acts = {"registry.desire", "registry.end_launch"} | ({"cluster.kill"} if not obedient else set())
    assert acts <= killed_anywhere(trial)


@pytest.mark.parametrize("gave_up", [False, True])
def test_a_start(stages: Stages, author: Author, gave_up: bool) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        deployed(stage, author)
        stop.stop(stage.platform, plan_stop(stage.platform, JOB), author)
        if gave_up:
            stage.platform.registry.give_up(JOB, 1, "broken")
        plan = plan_start(stage.platform, JOB)
        with death.process(stage.platform) as mortal:
            deploy.carry_out(mortal, plan, OTHER, lambda _: None)
        deploy.carry_out(stage.platform, plan, OTHER, lambda _: None)
        stage.clock.sleep(120)
        assert stage.cluster.running() == [claimed(stage)]
        assert first(stage) == (State.LIVE, Desired.RUNNING)
        assert len(stage.platform.releases.releases()) == 1

    assert {"cluster.submit", "registry.record"} <= killed_anywhere(trial)


@pytest.mark.fault("F26", "killed before any call of a port and run again: the new size runs, by one driver")
@pytest.mark.parametrize("repartitions", [False, True], ids=["in_place", "rescale"])
def test_a_change_that_is_run_again(stages: Stages, author: Author, repartitions: bool) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        old = deployed(stage, author)
        new = wider(old) if repartitions else tuned(stage, old)
        repartition(stage)
        with death.process(stage.platform) as mortal:
            run_all(mortal, old, new, OTHER)
        if death.struck and not _ended(stage):
            run_all(stage.platform, old, new, OTHER)
        assert now(stage) == new

    acts = {"registry.begin_change", "registry.hold", "registry.switch", "cluster.submit", "registry.end_change"}
    assert acts <= killed_anywhere(trial)


@pytest.mark.parametrize("committed", [False, True])
def test_a_change_that_another_run_settles(stages: Stages, author: Author, committed: bool) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        old = deployed(stage, author)
        new = wider(old)
        repartition(stage)
        with death.process(stage.platform) as mortal:
            run_all(mortal, old, new, OTHER)
        change = stage.platform.registry.open_change(JOB, 1)
        began = any(entry.action.endswith(".change_begun") for entry in stage.registry.entries(OTHER.run_id))
        switched = change is not None and change.phase is Phase.SWITCHED
        if committed and switched:
            stage.registry.batches.add((JOB, 1, new.generation))
        lease.take(stage.platform, "repair", JOB, Author("operator", "run-3"), 900, 0, lambda _: True)
        stage.clock.sleep(60)
        proven = committed or (change is not None and Mark.READY in change.marks)
        forward = (change is None and began) or (switched and proven)
        assert now(stage) == (new if forward else old)

    assert {"registry.switch", "cluster.submit", "registry.end_change"} <= killed_anywhere(trial)


def gone(stage: Stage) -> None:
    """The driver ended."""
    stage.cluster.states["driver-0"] = DriverState.ERROR


def silent(stage: Stage) -> None:
    """The driver runs by the cluster and does not beat any more."""
    stage.cluster.broken.add(stage.platform.registry.versions(JOB)[0].artifact)
    stage.clock.sleep(200)
    stage.cluster.broken.clear()


def half_changed(stage: Stage) -> None:
    """A change was begun and stopped the driver; its run is gone."""
    (version,) = stage.platform.registry.versions(JOB)
    old = RunsAs(version.artifact, version.settings, version.generation)
    begun = changing.begin(stage.platform, "deploy", JOB, 1, old, old, OTHER)
    changing.hold(stage.platform, begun, OTHER)


@pytest.mark.parametrize("trouble", [gone, silent, half_changed])
def test_a_repair(stages: Stages, author: Author, trouble: Callable[[Stage], None]) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        deployed(stage, author)
        trouble(stage)
        with death.process(stage.platform) as mortal:
            repaired(mortal, "repair-0")
        for number in (1, 2):
            stage.clock.sleep(70)
            repaired(stage.platform, f"repair-{number}")
        assert stage.cluster.running() == [claimed(stage)]
        assert first(stage) == (State.LIVE, Desired.RUNNING)
        assert stage.platform.registry.open_change(JOB, 1) is None

    assert {"registry.take_lease", "cluster.submit", "registry.release_leases"} <= killed_anywhere(trial)


def test_a_repair_that_gives_up(stages: Stages, author: Author) -> None:
    def trial(death: Death) -> None:
        stage = stages()
        deployed(stage, author)
        for number in range(3):
            _end_drivers(stage)
            repaired(stage.platform, f"before-{number}")
            stage.clock.sleep(400)
        _end_drivers(stage)
        with death.process(stage.platform) as mortal:
            repaired(mortal, "repair-0")
        repaired(stage.platform, "repair-1")
        assert stage.cluster.running() == []
        assert first(stage)[0] is State.FAILED

    assert {"registry.raise_epoch", "registry.give_up"} <= killed_anywhere(trial)


def repaired(platform: Platform, run: str) -> None:
    """A repair of the job; a run before it that was killed holds nothing."""
    plan = repair.plan_repair(platform, JOB, lambda _: True)
    repair.carry_out(platform, plan, Author("airflow", run), lambda _: True)


def _end_drivers(stage: Stage) -> None:
    for driver in stage.cluster.running():
        stage.cluster.states[driver] = DriverState.ERROR


def _ended(stage: Stage) -> bool:
    return any(change.phase in ENDED for change in stage.registry.changes.values())
