"""Tasks of an earlier run of a verb that somebody clears in Airflow: they harm nothing that was made since."""

from __future__ import annotations

import pytest

from kappa.core.audit import Author
from kappa.core.changes import Phase, RunsAs
from kappa.core.versions import Desired
from kappa.verbs.change import steps
from kappa.verbs.change.recovery import settle
from tests.plugins.change_runs import JOB, deployed, now, repartition, run_all, tuned, wider
from tests.plugins.conftest import Stage
from tests.rigs.checkpoint_folders import folder_of

FIRST, SECOND = Author("ada", "run-a"), Author("ada", "run-b")


def _rescaled_twice(stage: Stage, author: Author) -> RunsAs:
    """What the version runs as, from its third generation; each generation has a folder."""
    old = deployed(stage, author)
    repartition(stage)
    folder = folder_of(stage.platform.settings.checkpoints(JOB, 1) / "g1").parent
    for by, size in ((FIRST, 4), (SECOND, 3)):
        new = RunsAs(old.artifact, {**old.settings, "state_partitions": size}, old.generation + 1)
        for number in (old.generation, new.generation):
            (folder / f"g{number}").mkdir(parents=True, exist_ok=True)
        run_all(stage.platform, old, new, by)
        old = new
    return now(stage)


def test_the_end_of_an_earlier_rescale_leaves_the_checkpoint_in_use(stage: Stage, author: Author) -> None:
    runs_as = _rescaled_twice(stage, author)
    checkpoints = stage.platform.settings.checkpoints(JOB, 1)
    before = checkpoints.names()
    steps.conclude(stage.platform, steps.of_run(stage.platform, JOB, FIRST), FIRST)
    assert f"g{runs_as.generation}" in before
    assert checkpoints.names() == before


def test_the_end_of_an_earlier_rescale_is_told_once(stage: Stage, author: Author) -> None:
    _rescaled_twice(stage, author)
    steps.conclude(stage.platform, steps.of_run(stage.platform, JOB, FIRST), FIRST)
    told = [entry for entry in stage.registry.entries(FIRST.run_id) if entry.action == "rescale.done"]
    assert len(told) == 1


def test_a_change_that_was_undone_is_not_said_to_be_done(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), FIRST)
    settle(stage.platform, change, FIRST)
    with pytest.raises(steps.ChangeUndone):
        steps.conclude(stage.platform, change, FIRST)
    assert not [entry for entry in stage.registry.entries(FIRST.run_id) if entry.action == "deploy.done"]


def test_a_plan_from_before_another_change_is_not_begun(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    new = tuned(stage, old)
    run_all(stage.platform, old, new, FIRST)
    repartition(stage)
    latest = wider(new)
    run_all(stage.platform, new, latest, SECOND)
    with pytest.raises(
        steps.PlannedForAnother, match=r"cadence_ms 500 -> 800.*generation 1 -> 2.*from the task `plan` on"
    ):
        steps.begin(stage.platform, "deploy", JOB, 1, old, new, FIRST)
    assert now(stage) == latest


def test_a_run_whose_change_is_under_way_begins_no_other(stage: Stage, author: Author) -> None:
    """Its own change may have switched the version already: the task that begins it is tried again."""
    old = deployed(stage, author)
    new = tuned(stage, old)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, new, FIRST)
    steps.hold(stage.platform, change, FIRST)
    steps.switch(stage.platform, change)
    again = steps.begin(stage.platform, "deploy", JOB, 1, old, new, FIRST)
    assert (again.change_id, again.phase) == (change.change_id, Phase.SWITCHED)


@pytest.mark.parametrize("held", [False, True], ids=["before the driver is held", "while it is held"])
def test_a_deployment_that_comes_to_nothing_leaves_a_stopped_job_stopped(
    stage: Stage, author: Author, held: bool
) -> None:
    old = deployed(stage, author)
    stage.registry.desire(JOB, 1, Desired.STOPPED)
    stage.clock.sleep(10)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), FIRST)
    if held:
        steps.hold(stage.platform, change, FIRST)
    settle(stage.platform, change, FIRST)
    assert stage.registry.versions(JOB)[0].desired is Desired.STOPPED
    assert stage.cluster.running() == []


def test_a_deployment_that_comes_to_its_end_starts_a_stopped_job(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    stage.registry.desire(JOB, 1, Desired.STOPPED)
    stage.clock.sleep(10)
    new = tuned(stage, old)
    assert run_all(stage.platform, old, new, FIRST).phase is Phase.DONE
    assert now(stage) == new
