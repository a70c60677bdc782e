"""What is done in advance for a generation, while its checkpoint is still written to, and what is left of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.rescale import generations
from jobs.rescale.state_proof import StateDiffers
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.store.places import at
from tests.jobs import streams
from tests.jobs.checkpoints import WINDOWS, without_batch
from tests.rigs.checkpoint_folders import folder_of


def test_a_draft_of_a_running_checkpoint_becomes_what_it_is_when_it_stopped(
    spark: SparkSession, old: Checkpoint, source: Path, tmp_path: Path
) -> None:
    """A batch is pending while it is begun, and committed before it is made."""
    pending = (folder_of(old) / "commits" / "2").rename(tmp_path / "2")
    with generations.draft(spark, old, at(tmp_path), 2, 3) as work:
        assert work.newest_committed() == work.newest_planned() == 1
        assert [f.name for f in tmp_path.glob("*g2*")] == [folder_of(work).name]
        pending.rename(folder_of(old) / "commits" / "2")
        untouched = streams.files(folder_of(old))
        proof, base = generations.make(spark, old, work, 3, lambda _: None)
    assert (proof.equal, proof.after[0].rows, base) == (True, WINDOWS + 1, 3)
    assert streams.files(folder_of(old)) == untouched
    assert {f.name for f in tmp_path.iterdir()} == {"g1", work.place.name}


def test_a_draft_leaves_nothing_and_removes_what_a_killed_one_left(
    spark: SparkSession, old: Checkpoint, tmp_path: Path
) -> None:
    for name in ("g20", "g1-of-another"):
        shutil.copytree(folder_of(old), tmp_path / name)
    before = streams.files(tmp_path)
    for left in (
        "g2",
        "g2-1a2b",
        "g2-1a2b.rehearsal",
        "g2.work-1",
        "g2.work-1.rehearsal",
        ".g2.work-1.part",
        ".g2.work-1.rehearsal.part",
    ):
        shutil.copytree(folder_of(old), tmp_path / left)
    with pytest.raises(KeyboardInterrupt), generations.draft(spark, old, at(tmp_path), 2, 3):
        raise KeyboardInterrupt
    assert streams.files(tmp_path) == before


def test_who_fails_leaves_alone_what_another_try_has_made_meanwhile(
    spark: SparkSession, old: Checkpoint, tmp_path: Path
) -> None:
    """An orphan's lock may be lost: by then the version may run on the other's folder."""

    def fail() -> None:
        with generations.draft(spark, old, at(tmp_path), 2, 3):
            shutil.copytree(folder_of(old), tmp_path / "g2-of-another")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert {f.name for f in tmp_path.iterdir()} == {"g1", "g2-of-another"}


def test_who_may_not_go_on_removes_nothing(spark: SparkSession, old: Checkpoint, tmp_path: Path) -> None:
    def lost() -> None:
        raise InterruptedError

    shutil.copytree(folder_of(old), tmp_path / "g2-of-another")
    with pytest.raises(InterruptedError), generations.draft(spark, old, at(tmp_path), 2, 3, lost):
        raise AssertionError("it is not reached")
    assert {f.name for f in tmp_path.iterdir()} == {"g1", "g2-of-another"}


def test_what_cannot_be_repartitioned_is_seen_by_the_rehearsal(
    spark: SparkSession, old: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = streams.files(tmp_path)
    monkeypatch.setattr(generations, "repartition", lambda _spark, copy, _size: without_batch(copy, 2))
    with pytest.raises(StateDiffers), generations.draft(spark, old, at(tmp_path), 2, 3):
        raise AssertionError("it is not reached")
    assert streams.files(tmp_path) == before


def test_of_a_large_state_nothing_is_done_in_advance(
    spark: SparkSession, old: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generations, "PREPARED_BYTES", 10)
    with generations.draft(spark, old, at(tmp_path), 2, 4) as work:
        assert not folder_of(work).exists()
        proof, _ = generations.make(spark, old, work, 4, lambda _: None)
    assert proof.equal
