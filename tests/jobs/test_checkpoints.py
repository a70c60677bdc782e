"""A checkpoint is gone on with only where the database agrees with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.checkpoints import Checkpoint, CheckpointLost, DamagedOffsets, DatabaseBehind, check

OFFSETS = 'v1\n{"batchWatermarkMs":77,"batchTimestampMs":1,"conf":{}}\n{"ad_events":{"1":5,"0":3}}'


def _checkpoint(path: Path, planned: int, committed: int) -> Checkpoint:
    for folder, newest in (("offsets", planned), ("commits", committed)):
        (path / folder).mkdir()
        for batch in range(newest + 1):
            (path / folder / str(batch)).write_text(OFFSETS)
            (path / folder / f".{batch}.crc").write_text("")
    return Checkpoint(path)


def test_a_batch_is_read_as_it_was_planned(tmp_path: Path) -> None:
    planned = _checkpoint(tmp_path, 2, 1).planned(2, "ad_events")
    assert planned.end == {0: 3, 1: 5}
    assert planned.watermark_ms == 77


@pytest.mark.parametrize("text", ["", "v1\n{}", OFFSETS[: len(OFFSETS) // 2], OFFSETS.replace("ad_events", "other")])
def test_a_cut_offsets_file_is_named(tmp_path: Path, text: str) -> None:
    checkpoint = _checkpoint(tmp_path, 0, 0)
    (tmp_path / "offsets" / "0").write_text(text)
    with pytest.raises(DamagedOffsets, match="offsets/0"):
        checkpoint.planned(0, "ad_events")


@pytest.mark.parametrize(("planned", "committed", "recorded"), [(5, 5, 5), (5, 4, 5), (5, 4, 4), (0, -1, None)])
def test_histories_that_agree_pass(tmp_path: Path, planned: int, committed: int, recorded: int | None) -> None:
    check(_checkpoint(tmp_path, planned, committed), recorded)


def test_a_new_version_has_neither(tmp_path: Path) -> None:
    check(Checkpoint(tmp_path / "nothing"), None)


def test_a_lost_checkpoint_is_refused_because_the_database_knows_better(tmp_path: Path) -> None:
    with pytest.raises(CheckpointLost):
        check(Checkpoint(tmp_path / "nothing"), 7)


def test_an_older_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointLost):
        check(_checkpoint(tmp_path, 5, 5), 7)


def test_a_database_from_a_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseBehind):
        check(_checkpoint(tmp_path, 5, 5), 3)


def test_a_pending_batch_is_seen(tmp_path: Path) -> None:
    assert _checkpoint(tmp_path, 5, 4).is_pending()
