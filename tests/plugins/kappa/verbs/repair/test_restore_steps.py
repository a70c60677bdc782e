"""A checkpoint is restored under the run's lease, while no driver may be at work on it; and it is in the audit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from kappa.core.audit import Author
from kappa.core.versions import State
from kappa.verbs import lease
from kappa.verbs.change.recovery import CheckpointHeld
from kappa.verbs.lease import NotHolder, nobody_ended
from kappa.verbs.repair import checkpoint as checkpoint_steps
from kappa.verbs.stop.plan import NothingDeployed
from tests.plugins.conftest import Stage
from tests.plugins.kappa.core.checkpoint.test_checkpoint_restore import TOPIC, batch, fill
from tests.plugins.registries import version
from tests.rigs.checkpoint_folders import folder_of

JOB = "ad_ctr"


@pytest.fixture
def damaged(stage: Stage, author: Author) -> Path:
    """The newest plan of a version's checkpoint was cut; the version has given up, and the run holds it."""
    staged = replace(version(JOB), settings={"state_partitions": 2}, topic=TOPIC)
    stage.registry.stage(staged, author, {})
    stage.registry.go_live(JOB, 1, author)
    stage.registry.set_state(JOB, 1, State.LIVE, State.FAILED)
    stage.registry.planned[JOB, 1, 1] = {8: batch(8), 9: batch(9)}
    folder = folder_of(stage.platform.settings.checkpoints(JOB, 1) / "g1")
    fill(folder, 9, 9)
    file = folder / "offsets" / "9"
    file.write_text("")
    lease.take(stage.platform, checkpoint_steps.VERB, JOB, author, 60.0, 0.0, nobody_ended)
    return file


def test_a_restoration_says_what_it_did_and_is_in_the_audit(stage: Stage, author: Author, damaged: Path) -> None:
    planned = checkpoint_steps.plan_restore(stage.platform, JOB)
    assert [name for name, _ in planned.rows()] == ["checkpoint g1 of ad_ctr v1", "offsets/9"]
    assert damaged.read_text() == "", "a plan changes nothing"
    said = checkpoint_steps.carry_out(stage.platform, JOB, author)
    assert said.startswith("checkpoint g1 of ad_ctr v1: offsets/9 written again (the database has the batch, up to")
    assert "'./kappa start ad_ctr'" in said
    assert damaged.read_text()
    (entry,) = [one for one in stage.registry.entries(author.run_id) if one.action == "repair.checkpoint"]
    assert entry.evidence == planned.to_json()
    assert checkpoint_steps.carry_out(stage.platform, JOB, author).endswith(
        "every file can be read; nothing was changed."
    )


def test_nothing_is_touched_while_a_driver_may_be_at_work(stage: Stage, author: Author, damaged: Path) -> None:
    stage.registry.intend_launch(JOB, 1, uuid4())
    with pytest.raises(checkpoint_steps.Driven, match=r"\./kappa stop ad_ctr"):
        checkpoint_steps.carry_out(stage.platform, JOB, author)
    assert damaged.read_text() == ""


def test_nothing_is_touched_while_spark_work_holds_the_checkpoint(stage: Stage, author: Author, damaged: Path) -> None:
    stage.registry.occupied.add((JOB, 1))
    with pytest.raises(CheckpointHeld):
        checkpoint_steps.carry_out(stage.platform, JOB, author)
    assert damaged.read_text() == ""


def test_nothing_is_touched_without_the_lease(stage: Stage, author: Author, damaged: Path) -> None:
    with pytest.raises(NotHolder):
        checkpoint_steps.carry_out(stage.platform, JOB, replace(author, run_id="another"))
    assert damaged.read_text() == ""


def test_a_job_that_was_never_deployed_has_no_checkpoint(stage: Stage) -> None:
    with pytest.raises(NothingDeployed):
        checkpoint_steps.plan_restore(stage.platform, JOB)
