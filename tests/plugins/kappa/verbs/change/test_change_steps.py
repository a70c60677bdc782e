"""The steps of a change in place: one driver of the new one, or of the old one where the new one does not do."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import pytest

from kappa.core.audit import Author
from kappa.core.changes import Outcome, Phase, RunsAs
from kappa.core.store.folder import Folder
from kappa.core.store.location import StoreAway
from kappa.core.versions import BEGINNING, OPEN_END, Desired, Segment, State
from kappa.verbs.change import steps
from kappa.verbs.change.recovery import CheckpointHeld, settle
from kappa.verbs.drivers.finite_program import work_folder
from kappa.verbs.drivers.launch import ServesNoMore
from tests.plugins.change_runs import JOB, deployed, now, repartition, run_all, tuned, wider
from tests.plugins.conftest import Stage
from tests.rigs.checkpoint_folders import folder_of

OTHER = Author("other", "run-2")


@pytest.mark.parametrize("repartitions", [False, True])
def test_all_steps_make_the_version_the_new_one(stage: Stage, author: Author, repartitions: bool) -> None:
    old = deployed(stage, author)
    new = wider(old) if repartitions else tuned(stage, old)
    repartition(stage)
    assert run_all(stage.platform, old, new, OTHER).phase is Phase.DONE
    assert now(stage) == new


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


def test_a_run_that_is_cleared_after_its_change_was_undone_changes_anew(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    new = tuned(stage, old)
    stage.cluster.broken.add(new.artifact)
    with pytest.raises(steps.ChangeUndone):
        run_all(stage.platform, old, new, OTHER)
    stage.cluster.broken.clear()
    assert run_all(stage.platform, old, new, OTHER).phase is Phase.DONE
    assert now(stage) == new


def test_a_version_that_gave_up_and_is_replaced_during_its_change_is_not_live_again(
    stage: Stage, author: Author
) -> None:
    old = deployed(stage, author)
    stage.registry.give_up(JOB, 1, "a gap")
    stage.cluster.kill(uuid4(), stage.cluster.running())
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), OTHER)
    stage.registry.served[JOB] = [Segment(JOB, BEGINNING, OPEN_END, 2)]
    steps.hold(stage.platform, change, OTHER)
    steps.switch(stage.platform, change)
    with pytest.raises(ServesNoMore, match=r"v1 gave up.*\(v2 does\)"):
        steps.launch(stage.platform, change, OTHER)
    assert "was undone" in settle(stage.platform, change, OTHER)
    (version,) = stage.registry.versions(JOB)
    assert (version.state, version.artifact, stage.cluster.running()) == (State.FAILED, old.artifact, [])


def test_a_driver_that_is_about_to_end_is_waited_for_before_the_next_one_starts(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), OTHER)
    stage.registry.hold(change.change_id)
    stage.cluster.leaving.update(stage.cluster.running())
    settle(stage.platform, change, OTHER)
    stage.clock.sleep(60)
    assert now(stage) == old


@pytest.mark.parametrize("store", ["", "elsewhere"])
def test_a_change_that_is_settled_leaves_no_scratch_wherever_the_store_is(
    stage: Stage, author: Author, tmp_path: Path, store: str
) -> None:
    """In the shared folder the outcomes of its programs lie beside it, and stay for whoever asks why."""
    stage.keep_in(str(tmp_path / store) if store else "")
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), OTHER)
    scratch, work = stage.platform.settings.scratch(change.change_id), work_folder(stage.platform.settings, change)
    (scratch / "checkpoint" / "offsets" / "0").write(b"copied")
    (scratch / "standby" / "following" / "metadata").write(b"warm")
    work.mkdir(parents=True, exist_ok=True)
    (work / "trial.json").write_text("{}")
    settle(stage.platform, change, OTHER)
    assert scratch.names() == (set() if store else {"trial.json"})
    assert (work / "trial.json").exists()


def test_a_store_that_is_away_keeps_no_change_from_its_end(
    stage: Stage, author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: Folder, key: str) -> set[str]:
        raise StoreAway(key, "it does not answer")

    old = deployed(stage, author)
    change = steps.begin(stage.platform, "deploy", JOB, 1, old, tuned(stage, old), OTHER)
    monkeypatch.setattr(Folder, "names", away)
    assert "was undone" in settle(stage.platform, change, OTHER)
    assert now(stage) == old


def test_only_the_checkpoint_before_the_last_rescale_is_kept(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    repartition(stage)
    folder = folder_of(stage.platform.settings.checkpoints(JOB, 1) / "g1").parent
    of_killed_tries = ("g2.work-7", "g2.work-7.rehearsal", ".g2.work-7.part", "g2-0", "g2-0.rehearsal")
    for left in of_killed_tries:
        (folder / left).mkdir(parents=True)
    for run, size in (("run-a", 4), ("run-b", 3)):
        new = RunsAs(old.artifact, {**old.settings, "state_partitions": size}, old.generation + 1)
        name = f"g{new.generation}-{run}"
        stage.registry.generations.setdefault((JOB, 1), {})[new.generation] = name
        for kept in ("g1", name):
            (folder / kept).mkdir(parents=True, exist_ok=True)
        run_all(stage.platform, old, new, Author("tester", run))
        old = new
    assert sorted(kept.name for kept in folder.iterdir()) == ["g2-run-a", "g3-run-b"]


def test_a_repartition_that_refused_leaves_the_stream_alone(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "rescale", JOB, 1, old, wider(old), OTHER)
    folder = work_folder(stage.platform.settings, change)
    folder.mkdir(parents=True)
    (folder / "repartition.json").write_text('{"ok": false, "sentence": "the provider is another", "evidence": {}}')
    with pytest.raises(steps.NeverWarm, match="the provider is another"):
        steps.hold(stage.platform, change, OTHER)
    assert stage.registry.versions(JOB)[0].desired is Desired.RUNNING


def test_a_worker_on_another_host_sees_what_a_program_said(stage: Stage, author: Author, tmp_path: Path) -> None:
    """The tasks of one run may be on several workers of Airflow, each with a state folder of its own."""
    stage.share(tmp_path / "shared")
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "rescale", JOB, 1, old, wider(old), OTHER)
    refused = Outcome("the provider is another", {}, ok=False, may_pass=False)
    file = work_folder(stage.platform.settings, change) / "repartition.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(refused.to_json()))
    elsewhere = replace(stage.platform, settings=replace(stage.platform.settings, home=tmp_path / "another"))
    with pytest.raises(steps.NeverWarm, match="the provider is another"):
        steps.hold(elsewhere, change, OTHER)


def test_a_repartition_that_is_tried_again_is_waited_for(stage: Stage, author: Author) -> None:
    old = deployed(stage, author)
    change = steps.begin(stage.platform, "rescale", JOB, 1, old, wider(old), OTHER)
    folder = work_folder(stage.platform.settings, change)
    folder.mkdir(parents=True)
    failed = {"ok": False, "may_pass": True, "sentence": "the broker does not answer", "evidence": {}}
    (folder / "repartition.json").write_text(json.dumps(failed))
    with pytest.raises(steps.NeverWarm, match="it was not prepared after 400 s"):
        steps.hold(stage.platform, change, OTHER)


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
