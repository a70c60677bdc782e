"""Scratch of changes in a store, and outcomes in the shared folder: what is left of those that have ended goes in the
end."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import pytest

from kappa.core.audit import Author
from kappa.core.changes import Change, Phase
from kappa.core.store.location import Location
from kappa.verbs.change import steps
from kappa.verbs.drivers.finite_program import work_folder
from kappa.verbs.retire import old_files
from tests.plugins.change_runs import JOB, deployed, tuned
from tests.plugins.conftest import Stage

DAY = 86_400.0
SWEEP = Author("airflow", "sweep-1")


def begun(stage: Stage, by: Author) -> Change:
    """A change whose program was killed, so that its copy of the checkpoint lies there."""
    old = deployed(stage, by)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), by)
    (stage.platform.settings.scratch(change.change_id) / "checkpoint" / "offsets" / "0").write(b"copied")
    return change


def sweep(stage: Stage) -> str:
    """Plan and carry out, with nobody at work."""
    plan = old_files.plan_old_files(stage.platform, at_work=lambda: [])
    return old_files.carry_out(stage.platform, plan, SWEEP)


def work(stage: Stage) -> Location:
    """Where scratch of all changes lies."""
    return stage.platform.settings.store / "work"


def test_scratch_in_a_store_goes_a_week_after_its_change_ended(stage: Stage, author: Author, tmp_path: Path) -> None:
    stage.keep_in(str(tmp_path / "elsewhere"))
    change = begun(stage, author)
    stage.clock.sleep(60 * DAY)
    assert sweep(stage) == "no old files."
    stage.registry.end_change(change.change_id, Phase.UNDONE)
    stage.clock.sleep(6 * DAY)
    assert sweep(stage) == "no old files."
    stage.clock.sleep(2 * DAY)
    assert sweep(stage) == "removed: 1 scratch of changes (0.0 MB)."
    assert work(stage).names() == set()
    assert sweep(stage) == "no old files."


def test_what_no_change_of_the_registry_is_named_as_stays(stage: Stage, author: Author, tmp_path: Path) -> None:
    """Another installation may keep its files in the same bucket."""
    stage.keep_in(str(tmp_path / "elsewhere"))
    others = {str(uuid4()), "notes"}
    for name in others:
        (work(stage) / name / "metadata").write(b"theirs")
    stage.registry.end_change(begun(stage, author).change_id, Phase.UNDONE)
    stage.clock.sleep(60 * DAY)
    sweep(stage)
    assert work(stage).names() == others


@pytest.mark.parametrize("store", ["", "elsewhere"])
def test_outcomes_in_the_shared_folder_go_a_week_after_they_were_written(
    stage: Stage, author: Author, tmp_path: Path, store: str
) -> None:
    """Whether scratch lies beside them or in a store of its own; not while their change is open."""
    stage.share(tmp_path / "shared")
    stage.keep_in(str(tmp_path / store) if store else "")
    change = begun(stage, author)
    file = work_folder(stage.platform.settings, change) / "trial.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    for written in file.parent.rglob("*"):
        os.utime(written, (stage.clock.now().timestamp(),) * 2)
    stage.clock.sleep(60 * DAY)
    assert sweep(stage) == "no old files."
    stage.registry.end_change(change.change_id, Phase.UNDONE)
    stage.clock.sleep(60 * DAY)
    assert "1 folders of changes" in sweep(stage)
    assert not file.parent.exists()
    assert work(stage).names() == set()


def test_scratch_in_the_shared_folder_is_left_to_the_sweep_of_its_changes_folder(stage: Stage, author: Author) -> None:
    stage.registry.end_change(begun(stage, author).change_id, Phase.UNDONE)
    stage.clock.sleep(60 * DAY)
    assert "scratch" not in sweep(stage)
