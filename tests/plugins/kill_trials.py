"""Trials of runs on one job that are killed at some moment and run again, or are settled by another one: one driver,
no half. Each is a function of a stage, whatever keeps its registry, and of the death."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from kappa.cluster import DriverState
from kappa.core.audit import Author
from kappa.core.changes import Mark, Phase, RunsAs
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.versions import Desired, State
from kappa.platform import Platform
from kappa.verbs import lease
from kappa.verbs.change import steps as changing
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy, plan_start
from kappa.verbs.deploy.plan import DeployPlan
from kappa.verbs.repair import steps as repair
from kappa.verbs.stop import steps as stop
from kappa.verbs.stop.steps import plan_stop
from tests.plugins.change_runs import JOB, deployed, now, repartition, run_all, tuned, wider
from tests.plugins.kills import Death
from tests.plugins.stages import AnyStage

FIRST, OTHER = Author("tester", "run-1", "because"), Author("other", "run-2")


def first(stage: AnyStage) -> tuple[State, Desired]:
    """What the registry says of version 1."""
    (version,) = stage.platform.registry.versions(JOB)
    return version.state, version.desired


def claimed(stage: AnyStage) -> str | None:
    """The driver of the open launch of version 1."""
    opened = stage.platform.registry.open_launch(JOB, 1)
    return opened.driver if opened else None


def deployment(stage: AnyStage, death: Death, slow_seconds: int) -> None:
    """A first deployment, whose driver needs so long to come to life."""
    stage.cluster.slow = timedelta(seconds=slow_seconds)
    plan = plan_deploy(stage.platform, DeployRequest(JOB))
    carried_out(stage, death, plan, FIRST)


def carried_out(stage: AnyStage, death: Death, plan: DeployPlan, by: Author) -> None:
    """Killed and carried out again, the plan has one driver serve version 1."""
    with death.process(stage.platform) as mortal:
        deploy.carry_out(mortal, plan, by, lambda _: None)
    deploy.carry_out(stage.platform, plan, by, lambda _: None)
    stage.clock.sleep(120)
    assert stage.cluster.running() == [claimed(stage)]
    assert first(stage) == (State.LIVE, Desired.RUNNING)
    assert len(stage.platform.releases.releases()) == 1


def stopping(stage: AnyStage, death: Death, obedient: bool) -> None:
    """A stop of a driver that heeds it, or does not."""
    deployed(stage, FIRST)
    stage.cluster.obedient = obedient
    plan = plan_stop(stage.platform, JOB)
    with death.process(stage.platform) as mortal:
        stop.stop(mortal, plan, OTHER, seconds=3)
    stop.stop(stage.platform, plan, OTHER, seconds=3)
    assert (stage.cluster.running(), claimed(stage)) == ([], None)
    assert first(stage) == (State.LIVE, Desired.STOPPED)


def starting(stage: AnyStage, death: Death, gave_up: bool) -> None:
    """A start of a version that was stopped, and may have given up."""
    deployed(stage, FIRST)
    stop.stop(stage.platform, plan_stop(stage.platform, JOB), FIRST)
    if gave_up:
        stage.platform.registry.give_up(JOB, 1, "broken")
    plan = plan_start(stage.platform, JOB)
    carried_out(stage, death, plan, OTHER)


def change_run_again(stage: AnyStage, death: Death, repartitions: bool) -> None:
    """A change in place whose run is made again."""
    old = deployed(stage, FIRST)
    new = wider(old) if repartitions else tuned(stage, old)
    repartition(stage)
    with death.process(stage.platform) as mortal:
        run_all(mortal, old, new, OTHER)
    ended = _began(stage) and stage.platform.registry.open_change(JOB, 1) is None
    if death.struck and not ended:
        run_all(stage.platform, old, new, OTHER)
    assert now(stage) == new


def change_settled(stage: AnyStage, death: Death, committed: bool) -> None:
    """A change that another run settles, after a batch was committed from the new generation, or none."""
    old = deployed(stage, FIRST)
    new = wider(old)
    repartition(stage)
    with death.process(stage.platform) as mortal:
        run_all(mortal, old, new, OTHER)
    change = stage.platform.registry.open_change(JOB, 1)
    switched = change is not None and change.phase is Phase.SWITCHED
    if committed and switched:
        stage.commit(JOB, 1, new.generation)
    lease.take(stage.platform, "repair", JOB, Author("operator", "run-3"), 900, 0, lambda _: True)
    stage.clock.sleep(60)
    proven = committed or (change is not None and Mark.READY in change.marks)
    forward = (change is None and _began(stage)) or (switched and proven)
    assert now(stage) == (new if forward else old)


def gone(stage: AnyStage) -> None:
    """The driver ended."""
    stage.cluster.states["driver-0"] = DriverState.ERROR


def silent(stage: AnyStage) -> None:
    """The driver runs by the cluster and does not beat any more."""
    stage.cluster.broken.add(stage.platform.registry.versions(JOB)[0].artifact)
    stage.clock.sleep(200)
    stage.cluster.broken.clear()


def half_changed(stage: AnyStage) -> None:
    """A change was begun and stopped the driver; its run is gone."""
    (version,) = stage.platform.registry.versions(JOB)
    old = RunsAs(version.artifact, version.settings, version.generation)
    begun = changing.begin(stage.platform, "deploy", JOB, 1, old, old, OTHER)
    changing.hold(stage.platform, begun, OTHER)


TROUBLES = {trouble.__name__: trouble for trouble in (gone, silent, half_changed)}


def repairing(stage: AnyStage, death: Death, trouble: str) -> None:
    """A repair of one of TROUBLES, which the next ones go on with."""
    deployed(stage, FIRST)
    TROUBLES[trouble](stage)
    with death.process(stage.platform) as mortal:
        repaired(mortal, "repair-0")
    for number in (1, 2):
        stage.clock.sleep(70)
        repaired(stage.platform, f"repair-{number}")
    assert stage.cluster.running() == [claimed(stage)]
    assert first(stage) == (State.LIVE, Desired.RUNNING)
    assert stage.platform.registry.open_change(JOB, 1) is None


def giving_up(stage: AnyStage, death: Death) -> None:
    """A repair that gives up, for the driver was restarted too often."""
    deployed(stage, FIRST)
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


def repaired(platform: Platform, run: str) -> None:
    """A repair of the job; a run before it that was killed holds nothing."""
    plan = repair.plan_repair(platform, JOB, lambda _: True)
    repair.carry_out(platform, plan, Author("airflow", run), lambda _: True)


def _end_drivers(stage: AnyStage) -> None:
    for driver in stage.cluster.running():
        stage.cluster.states[driver] = DriverState.ERROR


def _began(stage: AnyStage) -> bool:
    """Whether the run has said that it began a change, which it does right after."""
    return any(entry.action.endswith(".change_begun") for entry in stage.platform.registry.entries(OTHER.run_id))


TRIALS: dict[str, Callable[..., None]] = {
    "deploy": partial(deployment, slow_seconds=25),
    "stop": partial(stopping, obedient=False),
    "start": partial(starting, gave_up=True),
    "in_place": partial(change_run_again, repartitions=False),
    "rescale": partial(change_run_again, repartitions=True),
    "settle_back": partial(change_settled, committed=False),
    "settle_forward": partial(change_settled, committed=True),
    **{f"repair_{trouble}": partial(repairing, trouble=trouble) for trouble in TROUBLES},
    "give_up": giving_up,
}
"""One of each verb, by name."""
