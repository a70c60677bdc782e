"""A checkpoint is gone on with only where the database agrees with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kappa.core.checkpoint.reader import (
    PARTITIONS,
    PROVIDER,
    Checkpoint,
    CheckpointFacts,
    CheckpointLost,
    DamagedOffsets,
    DatabaseBehind,
    ForeignCheckpoint,
    StatefulOperator,
    check,
    check_offsets,
)
from kappa.core.store.folder import Folder
from kappa.core.store.location import StoreAway
from tests.rigs.checkpoint_folders import folder_of, in_folder

OFFSETS = 'v1\n{"batchWatermarkMs":77,"batchTimestampMs":1,"conf":{}}\n{"ad_events":{"1":5,"0":3}}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":77}'


def _checkpoint(path: Path, planned: int, committed: int) -> Checkpoint:
    (path / "metadata").write_text('{"id":"8e5d1e0e"}')
    for folder, newest in (("offsets", planned), ("commits", committed)):
        (path / folder).mkdir()
        for batch in range(newest + 1):
            (path / folder / str(batch)).write_text(OFFSETS if folder == "offsets" else COMMIT)
            (path / folder / f".{batch}.crc").write_text("")
    return in_folder(path)


def test_a_batch_is_read_as_it_was_planned(tmp_path: Path) -> None:
    planned = _checkpoint(tmp_path, 2, 1).planned(2, "ad_events")
    assert planned.end == {0: 3, 1: 5}
    assert planned.watermark_ms == 77


@pytest.mark.parametrize("text", ["", "v1\n{}", OFFSETS[: len(OFFSETS) // 2], OFFSETS.replace("ad_events", "other")])
def test_a_cut_offsets_file_is_named(tmp_path: Path, text: str) -> None:
    checkpoint = _checkpoint(tmp_path, 0, 0)
    (tmp_path / "offsets" / "0").write_text(text)
    with pytest.raises(DamagedOffsets, match="offsets/0 cannot be read"):
        checkpoint.planned(0, "ad_events")


@pytest.mark.parametrize(("planned", "committed", "recorded"), [(5, 5, 5), (5, 4, 5), (5, 4, 4), (0, -1, None)])
def test_histories_that_agree_pass(tmp_path: Path, planned: int, committed: int, recorded: int | None) -> None:
    check(_checkpoint(tmp_path, planned, committed), recorded)


def test_a_new_version_has_neither(tmp_path: Path) -> None:
    check(in_folder(tmp_path / "nothing"), None)


def test_a_lost_checkpoint_is_refused_because_the_database_knows_better(tmp_path: Path) -> None:
    with pytest.raises(CheckpointLost):
        check(in_folder(tmp_path / "nothing"), 7)


def test_an_older_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointLost):
        check(_checkpoint(tmp_path, 5, 5), 7)


def test_a_database_from_a_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseBehind):
        check(_checkpoint(tmp_path, 5, 5), 3)


def test_a_pending_batch_is_seen(tmp_path: Path) -> None:
    assert _checkpoint(tmp_path, 5, 4).is_pending()


def test_a_repartitioned_generation_begins_at_the_batch_of_its_repartition(tmp_path: Path) -> None:
    """Its base is batch 6, which the repartition committed; the database holds none of its batches yet."""
    generation = _checkpoint(tmp_path, 6, 6)
    check(generation, 6)
    with pytest.raises(DatabaseBehind):
        check(generation, None)
    with pytest.raises(CheckpointLost):
        check(in_folder(tmp_path / "nothing"), 6)


def test_a_checkpoint_that_is_elsewhere_than_the_database_is_refused(tmp_path: Path) -> None:
    checkpoint = _checkpoint(tmp_path, 5, 5)
    check_offsets(checkpoint, 5, "ad_events", {0: 3, 1: 5})
    check_offsets(checkpoint, None, "ad_events", {0: 9, 1: 9})
    with pytest.raises(ForeignCheckpoint, match=r"\{0: 4, 1: 5\}"):
        check_offsets(checkpoint, 5, "ad_events", {0: 4, 1: 5})


NEEDED = ["metadata", "offsets/5", "offsets/4", "commits/5"]


@pytest.mark.parametrize("file", NEEDED)
@pytest.mark.parametrize("kept", [0.0, 0.5, None], ids=["cut to nothing", "cut by half", "lost"])
def test_a_file_that_spark_needs_at_a_start_is_named_with_its_repair(
    tmp_path: Path, file: str, kept: float | None
) -> None:
    checkpoint, path = _checkpoint(tmp_path, 5, 5), tmp_path / file
    if kept is None and file in ("offsets/5", "commits/5"):
        path.unlink()
        check_offsets(checkpoint, 4, "ad_events", {0: 3, 1: 5})  # an older one is the newest then
        return
    path.unlink() if kept is None else path.write_text(path.read_text()[: int(path.stat().st_size * kept)])
    with pytest.raises(DamagedOffsets, match=f"{file} cannot be read.*repair JOB --checkpoint"):
        check_offsets(checkpoint, 5, "ad_events", {0: 3, 1: 5})


@pytest.mark.parametrize("file", ["offsets/3", "commits/4", "commits/0"])
def test_files_that_no_start_needs_are_not_asked_for(tmp_path: Path, file: str) -> None:
    (folder_of(_checkpoint(tmp_path, 5, 5)) / file).write_text("")
    check_offsets(in_folder(tmp_path), 5, "ad_events", {0: 3, 1: 5})


def test_the_facts_are_those_of_the_newest_committed_batch(tmp_path: Path) -> None:
    checkpoint = _checkpoint(tmp_path, 1, 0)
    for batch, partitions in ((0, 2), (1, 4)):
        conf = {PROVIDER: "x.RocksDB", PARTITIONS: str(partitions)}
        (tmp_path / "offsets" / str(batch)).write_text(f"v1\n{json.dumps({'conf': conf})}\n{{}}")
    _describe(tmp_path / "state" / "0" / "_metadata" / "metadata", 0, "dedupe")
    _describe(tmp_path / "state" / "10" / "_metadata" / "v2" / "9", 10, "older")
    _describe(tmp_path / "state" / "10" / "_metadata" / "v2" / "12", 10, "stateStoreSave")
    size = sum(f.stat().st_size for f in (tmp_path / "state").rglob("*") if f.is_file())
    assert checkpoint.facts() == CheckpointFacts("x.RocksDB", 2, ("dedupe", "stateStoreSave"), 1, 0, size)
    assert checkpoint.operators()[1] == StatefulOperator(10, "stateStoreSave", ("default",))


def test_the_facts_of_a_version_that_never_ran(tmp_path: Path) -> None:
    assert in_folder(tmp_path / "nothing").facts() == CheckpointFacts("", 0, (), None, None, 0)


def test_a_damaged_description_of_an_operator_is_named(tmp_path: Path) -> None:
    file = tmp_path / "state" / "0" / "_metadata" / "metadata"
    _describe(file, 0, "dedupe")
    file.write_text("v1\n{")
    with pytest.raises(DamagedOffsets, match="metadata"):
        in_folder(tmp_path).operators()


def _describe(file: Path, number: int, name: str) -> None:
    held = {
        "operatorInfo": {"operatorId": number, "operatorName": name},
        "stateStoreInfo": [{"storeName": "default", "numPartitions": 2}],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"v1\n{json.dumps(held)}")


def test_of_a_store_that_is_away_nothing_is_said_to_be_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file would be restored, or the version given up; an outage passes."""
    checkpoint = _checkpoint(tmp_path, 5, 5)

    def away(_: Folder, key: str) -> bytes:
        raise StoreAway(key, "connection refused")

    monkeypatch.setattr(Folder, "read", away)
    with pytest.raises(StoreAway, match="connection refused"):
        check_offsets(checkpoint, 5, "ad_events", {0: 3, 1: 5})
