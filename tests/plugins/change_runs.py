"""Whole runs of changes in place: a tuned version, a repartitioned one, and the Spark work beside the steps."""

from __future__ import annotations

from dataclasses import replace

from kappa.core.audit import Author
from kappa.core.changes import Change, Mark, Phase, RunsAs
from kappa.core.requests.lifecycle import DeployRequest
from kappa.core.versions import Desired, State
from kappa.platform import Platform
from kappa.verbs import lease
from kappa.verbs.change import steps
from kappa.verbs.deploy import steps as deploy
from kappa.verbs.deploy.observation import plan_deploy
from kappa.verbs.drivers import standby
from tests.plugins.stages import AnyStage

JOB = "ad_ctr"


def deployed(stage: AnyStage, by: Author) -> RunsAs:
    """A live first version, and what it runs as."""
    deploy.carry_out(stage.platform, plan_deploy(stage.platform, DeployRequest(JOB)), by, lambda _: None)
    (version,) = stage.platform.registry.versions(JOB)
    return RunsAs(version.artifact, version.settings, version.generation)


def tuned(stage: AnyStage, old: RunsAs) -> RunsAs:
    """The same with other code that gives the same results."""
    stage.change("jobs/sinks.py", "SINK = 3", "SINK = 4")
    return replace(old, artifact=stage.build(), settings={**old.settings, "cadence_ms": 800})


def wider(old: RunsAs) -> RunsAs:
    """The same with four state partitions, so from another generation of the checkpoint."""
    return RunsAs(old.artifact, {**old.settings, "state_partitions": 4}, old.generation + 1)


def repartition(stage: AnyStage, proves: bool = True) -> None:
    """The Spark application beside the steps: warm after a while, at work once the driver has ended."""
    registry = stage.platform.registry

    def work() -> None:
        found = registry.open_change(JOB, 1)
        if found is None or not found.repartitions:
            return
        registry.mark(found.change_id, Mark.WARM)
        if proves and found.phase is Phase.HELD and registry.open_launch(JOB, 1) is None:
            registry.mark(found.change_id, Mark.PROVED)

    stage.clock.meanwhile.append(work)


def run_all(platform: Platform, old: RunsAs, new: RunsAs, by: Author) -> Change:
    """All steps, as a run makes them."""
    lease.take(platform, "rescale", JOB, by, 900, 0, lambda _: False)
    steps.begin(platform, "rescale" if old.generation != new.generation else "deploy", JOB, 1, old, new, by)
    change = steps.of_run(platform, JOB, by)
    standby.prepare(platform, change, by)
    steps.hold(platform, change, by)
    platform.clock.sleep(1)
    steps.switch(platform, change)
    steps.launch(platform, change, by)
    steps.ready(platform, change, by)
    steps.conclude(platform, change, by)
    lease.release(platform, by)
    return platform.registry.change(change.change_id)


def now(stage: AnyStage) -> RunsAs:
    """What the version runs as, which is also what its one driver was started from."""
    registry = stage.platform.registry
    version = registry.versions(JOB)[0]
    (driver,) = stage.cluster.running()
    assert any(f"/{version.artifact}/" in argument for argument in stage.cluster.submissions[driver][0].arguments)
    assert registry.open_change(JOB, 1) is None
    assert (version.desired, version.state) == (Desired.RUNNING, State.LIVE)
    return RunsAs(version.artifact, version.settings, version.generation)
