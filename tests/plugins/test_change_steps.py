"""The steps of a change in place: killed anywhere, the version ends as the old or the new one, with one driver."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from kappa.changes import ENDED, Change, Mark, Phase, RunsAs
from kappa.hooks.registry import Author
from kappa.plans.finite import work_folder
from kappa.ports import Platform
from kappa.states import Desired, State
from kappa.steps import change as steps
from kappa.steps import deploy, lease, standby
from kappa.steps.observe import DeployRequest, plan_deploy
from kappa.steps.settle import CheckpointHeld, settle

from tests.plugins.conftest import Stage
from tests.plugins.test_steps import Killed, mortal

JOB = "ad_ctr"
OTHER = Author("other", "run-2")


def deployed(stage: Stage, by: Author) -> RunsAs:
    """A live first version, and what it runs as."""
    deploy.carry_out(stage.platform, plan_deploy(stage.platform, DeployRequest(JOB)), by, lambda _: None)
    (version,) = stage.registry.versions(JOB)
    return RunsAs(version.artifact, version.settings, version.generation)


def tuned(stage: Stage, old: RunsAs) -> RunsAs:
    """The same with other code that gives the same results."""
    stage.change("jobs/sinks.py", "SINK = 3", "SINK = 4")
    return replace(old, artifact=stage.build(), settings={**old.settings, "cadence_ms": 500})


def wider(old: RunsAs) -> RunsAs:
    """The same with four state partitions, so from another generation of the checkpoint."""
    return RunsAs(old.artifact, {**old.settings, "state_partitions": 4}, old.generation + 1)


def repartition(stage: Stage, proves: bool = True) -> None:
    """The Spark application beside the steps: warm after a while, at work once the driver has ended."""

    def work() -> None:
        found = stage.registry.open_change(JOB, 1)
        if found is None or not found.repartitions:
            return
        stage.registry.mark(found.change_id, Mark.WARM)
        if proves and found.phase is Phase.HELD and stage.registry.open_launch(JOB, 1) is None:
            stage.registry.mark(found.change_id, Mark.PROVED)

    stage.clock.meanwhile.append(work)


def run_all(platform: Platform, old: RunsAs, new: RunsAs, by: Author) -> Change:
    """All steps, as a run makes them."""
    lease.take(platform, "rescale", JOB, by, 900, 0, lambda _: False)
    change = steps.begin(platform, "rescale" if old.generation != new.generation else "deploy", JOB, 1, old, new, by)
    standby.prepare(platform, change, by)
    steps.hold(platform, change, by)
    platform.clock.sleep(1)
    steps.switch(platform, change)
    steps.launch(platform, change, by)
    steps.ready(platform, change, by)
    steps.conclude(platform, change, by)
    lease.release(platform, by)
    return platform.registry.change(change.change_id)


def now(stage: Stage) -> RunsAs:
    """What the version runs as, which is also what its one driver was started from."""
    version = stage.registry.versions(JOB)[0]
    (driver,) = stage.cluster.running()
    assert any(f"/{version.artifact}/" in argument for argument in stage.cluster.submissions[driver][0].arguments)
    assert stage.registry.open_change(JOB, 1) is None
    assert (version.desired, version.state) == (Desired.RUNNING, State.LIVE)
    return RunsAs(version.artifact, version.settings, version.generation)


@pytest.mark.parametrize("repartitions", [False, True])
def test_all_steps_make_the_version_the_new_one(stage: Stage, author: Author, repartitions: bool) -> None:
    old = deployed(stage, author)
    new = wider(old) if repartitions else tuned(stage, old)
    repartition(stage)
    assert run_all(stage.platform, old, new, OTHER).phase is Phase.DONE
    assert now(stage) == new


@pytest.mark.parametrize("repartitions", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("dies_at", range(0, 60, 1))
def test_killed_anywhere_and_run_again_it_is_the_new_one(
    stage: Stage, author: Author, dies_at: int, after: bool, repartitions: bool
) -> None:
    old = deployed(stage, author)
    new = wider(old) if repartitions else tuned(stage, old)
    repartition(stage)
    try:
        run_all(mortal(stage.platform, dies_at, after), old, new, OTHER)
    except Killed:
        stage.clock.sleep(1)
        if not _ended(stage):
            run_all(stage.platform, old, new, OTHER)
    assert now(stage) == new


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("dies_at", range(0, 60, 1))
def test_killed_anywhere_and_settled_by_another_run_it_is_the_old_or_the_new_one(
    stage: Stage, author: Author, dies_at: int, after: bool, committed: bool
) -> None:
    old = deployed(stage, author)
    new = wider(old)
    repartition(stage)
    try:
        run_all(mortal(stage.platform, dies_at, after), old, new, OTHER)
    except Killed:
        stage.clock.sleep(1)
    change = stage.registry.open_change(JOB, 1)
    if committed and change and change.phase is Phase.SWITCHED:
        stage.registry.batches.add((JOB, 1, new.generation))
    lease.take(stage.platform, "repair", JOB, Author("operator", "run-3"), 900, 0, lambda _: True)
    stage.clock.sleep(60)
    forward = change is None or (committed and change.phase is Phase.SWITCHED)
    assert now(stage) == (new if forward and _began(stage) else old)


def test_code_that_never_starts_makes_way_for_the_old_one(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    new = tuned(stage, old)
    stage.cluster.broken.add(new.artifact)
    with pytest.raises(steps.ChangeUndone, match=r"no heartbeat within 45 s.*was undone"):
        run_all(stage.platform, old, new, OTHER)
    assert now(stage) == old
    (change,) = stage.registry.changes.values()
    silent_since = datetime.fromisoformat(change.marks[Phase.HELD])
    assert (stage.clock.now() - silent_since).total_seconds() < 60


def test_code_that_keeps_ending_makes_way_for_the_old_one(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    new = tuned(stage, old)
    stage.cluster.looping.add(new.artifact)
    with pytest.raises(steps.ChangeUndone, match=r"ended 2 times without committing a batch.*was undone"):
        run_all(stage.platform, old, new, OTHER)
    assert now(stage) == old


def test_a_driver_that_is_about_to_end_is_waited_for_before_the_next_one_starts(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), OTHER)
    stage.registry.hold(change.change_id)
    stage.cluster.leaving.update(stage.cluster.running())
    settle(stage.platform, change, OTHER)
    stage.clock.sleep(60)
    assert now(stage) == old


def test_only_the_checkpoint_before_the_last_rescale_is_kept(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    repartition(stage)
    folder = stage.platform.settings.checkpoint(JOB, 1, 1).parent
    for left in ("g2.work-7", "g2.work-7.rehearsal", ".g2.work-7.part"):  # of a repartition that was killed
        (folder / left).mkdir(parents=True)
    for run, size in (("run-a", 4), ("run-b", 3)):
        new = RunsAs(old.artifact, {**old.settings, "state_partitions": size}, old.generation + 1)
        for generation in (old.generation, new.generation):
            (folder / f"g{generation}").mkdir(parents=True, exist_ok=True)
        run_all(stage.platform, old, new, Author("tester", run))
        old = new
    assert sorted(kept.name for kept in folder.iterdir()) == ["g2", "g3"]


def test_a_repartition_that_refused_leaves_the_stream_alone(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "rescale", JOB, 1, old, wider(old), OTHER)
    folder = work_folder(stage.platform.settings, change)
    folder.mkdir(parents=True)
    (folder / "repartition.json").write_text('{"ok": false, "sentence": "the provider is another", "evidence": {}}')
    with pytest.raises(steps.NeverWarm, match="the provider is another"):
        steps.hold(stage.platform, change, OTHER)
    assert stage.registry.versions(JOB)[0].desired is Desired.RUNNING


def test_what_was_not_proved_is_never_switched_to(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    repartition(stage, proves=False)
    with pytest.raises(steps.NotProved):
        run_all(stage.platform, old, wider(old), OTHER)
    settle(stage.platform, steps.of_run(stage.platform, JOB, OTHER), OTHER)
    assert now(stage) == old


def test_a_stopped_job_stays_stopped_through_a_rescale(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    stage.registry.desire(JOB, 1, Desired.STOPPED)
    stage.clock.sleep(10)
    repartition(stage)
    run_all(stage.platform, old, wider(old), OTHER)
    version = stage.registry.versions(JOB)[0]
    assert (version.desired, version.settings["state_partitions"]) == (Desired.STOPPED, 4)
    assert stage.cluster.running() == []


def test_no_driver_starts_beside_an_orphaned_repartition(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), OTHER)
    steps.hold(stage.platform, change, OTHER)
    steps.switch(stage.platform, change)
    stage.registry.occupied.add((JOB, 1))
    with pytest.raises(CheckpointHeld):
        steps.launch(stage.platform, change, OTHER)
    assert stage.cluster.running() == []


def _ended(stage: Stage) -> bool:
    return any(change.phase in ENDED for change in stage.registry.changes.values())


def _began(stage: Stage) -> bool:
    return bool(stage.registry.changes)
