"""A repartitioned checkpoint holds the state that it was made from, row by row, or it is not made."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.rescale import generations, state_proof
from jobs.rescale.generations import NoState, PendingBatch
from jobs.rescale.state_proof import Proof, StateDiffers
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.checkpoint.repartitionable import SUPPORTED_PROVIDER, UnsupportedOperator, UnsupportedProvider
from tests.jobs import streams
from tests.jobs.checkpoints import WINDOWS, make, without_batch
from tests.rigs.checkpoint_folders import folder_of, in_folder


def _rewrite(file: Path, found: str, put: str) -> None:
    text = file.read_text()
    assert found in text
    file.write_text(text.replace(found, put))
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def _told(measured: tuple[state_proof.Measured, ...]) -> list[object]:
    return [m.told() for m in measured]


def test_the_facts_of_a_checkpoint(made: Path) -> None:
    facts = in_folder(made).facts()
    assert facts.provider.endswith(SUPPORTED_PROVIDER)
    assert (facts.state_partitions, facts.operators) == (2, ("stateStoreSave",))
    assert (facts.newest_planned, facts.newest_committed) == (2, 2)
    assert facts.bytes == sum(f.stat().st_size for f in (made / "state").rglob("*") if f.is_file())


def test_state_stays_equal_through_2_4_3_1_and_goes_on_alike(
    spark: SparkSession, old: Checkpoint, source: Path, tmp_path: Path
) -> None:
    before, current = state_proof.measure(spark, old), old
    untouched = streams.files(folder_of(old))
    for number, partitions in enumerate((4, 3, 1), start=2):
        parts: list[str] = []
        new, proof, base = make(spark, current, number, partitions, parts.append)
        assert parts == ["copied", "measured", "repartitioned", "proved"]
        assert proof.equal
        assert (proof.after[0].partitions, proof.after[0].rows, base) == (partitions, WINDOWS + 1, number + 1)
        assert new.place.name.startswith(f"g{number}-")
        current = new
    assert streams.files(folder_of(old)) == untouched
    assert _told(state_proof.measure(spark, current)) == _told(before)
    _same_results_after_another_batch(spark, old, current, source)


def _same_results_after_another_batch(spark: SparkSession, old: Checkpoint, new: Checkpoint, source: Path) -> None:
    """After a resend and an event of a known window, both checkpoints tell the same totals."""
    streams.add(spark, source, [streams.event(0, 0, "a"), streams.event(99, 1, "b", cost=7)])
    old_rows, new_rows = (_rows_of(spark, source, checkpoint) for checkpoint in (old, new))
    assert old_rows == new_rows
    assert len(new_rows) == 2


def _rows_of(spark: SparkSession, source: Path, checkpoint: Checkpoint) -> list[str]:
    """The rows that a stream over the checkpoint tells of what it has not read."""
    seen: list[str] = []

    def keep(frame: DataFrame, _batch_id: int) -> None:
        seen.extend(str(tuple(row)) for row in frame.collect())

    streams.run(streams.writer(spark, source, folder_of(checkpoint), keep))
    return sorted(seen)


def test_a_row_that_changed_or_was_lost_breaks_the_proof(spark: SparkSession, old: Checkpoint) -> None:
    whole = state_proof.measure(spark, old)
    lost = state_proof.measure(spark, without_batch(old, 2))
    changed = state_proof.measure(spark, without_batch(old, 1))
    assert [m[0].rows for m in (whole, lost, changed)] == [WINDOWS + 1, WINDOWS, WINDOWS]
    assert lost[0].total != changed[0].total
    assert lost[0].xor != changed[0].xor
    for proof in (Proof(whole, lost), Proof(lost, changed), Proof(whole, ())):
        assert not proof.equal
        with pytest.raises(StateDiffers, match="thrown away"):
            state_proof.check(proof)


def test_rows_in_a_partition_where_the_query_will_not_look_break_the_proof(
    spark: SparkSession, old: Checkpoint
) -> None:
    before, state = state_proof.measure(spark, old), folder_of(old) / "state" / "0"
    (state / "0").rename(state / "other")
    (state / "1").rename(state / "0")
    (state / "other").rename(state / "1")
    (state / "1" / "_metadata").rename(state / "0" / "_metadata")
    after = state_proof.measure(spark, old)
    assert _told(after) == _told(before)
    assert (before[0].misplaced, after[0].misplaced) == (0, WINDOWS + 1)
    with pytest.raises(StateDiffers, match="wrong partition"):
        state_proof.check(Proof(before, after))


def test_either_half_of_the_hash_alone_breaks_the_proof(spark: SparkSession, made: Path) -> None:
    (measured,) = state_proof.measure(spark, in_folder(made))
    for other in (replace(measured, total="1"), replace(measured, xor=1), replace(measured, rows=1)):
        assert not Proof((measured,), (other,)).equal
    assert Proof((measured,), (replace(measured, partitions=9),)).to_json()["equal"] is True


def test_a_provider_that_cannot_be_repartitioned_is_refused_before_the_call(
    spark: SparkSession, old: Checkpoint, tmp_path: Path
) -> None:
    _rewrite(folder_of(old) / "offsets" / "2", "RocksDBStateStoreProvider", "HDFSBackedStateStoreProvider")
    _refused(spark, old, UnsupportedProvider)


def test_an_operator_that_cannot_be_repartitioned_is_refused_before_the_call(
    spark: SparkSession, old: Checkpoint, tmp_path: Path
) -> None:
    _rewrite(folder_of(old) / "state" / "0" / "_metadata" / "metadata", "stateStoreSave", "symmetricHashJoin")
    _refused(spark, old, UnsupportedOperator)


def test_an_aggregate_without_a_key_is_refused_before_the_call(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    checkpoint = in_folder(tmp_path / "g1")
    events = spark.readStream.schema(spark.read.parquet(str(source)).schema).parquet(str(source))
    counts = events.groupBy().count().writeStream.outputMode("update").foreachBatch(streams.nothing)
    streams.run(counts.option("checkpointLocation", str(folder_of(checkpoint))))
    _refused(spark, checkpoint, UnsupportedOperator)


def test_a_pending_batch_is_refused_before_the_call(spark: SparkSession, old: Checkpoint, tmp_path: Path) -> None:
    (folder_of(old) / "commits" / "2").unlink()
    _refused(spark, old, PendingBatch)
    with pytest.raises(PendingBatch):
        generations.repartition(spark, old, 4)


def test_a_version_that_never_committed_has_nothing_to_repartition(spark: SparkSession, tmp_path: Path) -> None:
    _refused(spark, in_folder(tmp_path / "g1"), NoState)


def _refused(spark: SparkSession, old: Checkpoint, why: type[Exception]) -> None:
    """It is refused, and nothing was written anywhere."""
    of_version = folder_of(old.place.parent)
    before = streams.files(of_version)
    with pytest.raises(why):
        make(spark, old, 2, 4)
    assert streams.files(of_version) == before


def test_stopped_between_two_parts_it_leaves_nothing_and_can_be_made_again(
    spark: SparkSession, old: Checkpoint, tmp_path: Path
) -> None:
    before = streams.files(tmp_path)

    def stop(moment: str) -> None:
        if moment == "repartitioned":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(spark, old, 2, 4, stop)
    assert streams.files(tmp_path) == before
    for left in (tmp_path / "g2-1a2b", tmp_path / "g2.work-1"):
        shutil.copytree(folder_of(old), left)
        (left / "commits" / "2").unlink()
    new, proof, _ = make(spark, old, 2, 4)
    assert proof.equal
    assert {f.name for f in tmp_path.iterdir()} == {"g1", new.place.name}


def test_the_number_that_it_has_makes_a_proved_copy_without_the_call(
    spark: SparkSession, old: Checkpoint, tmp_path: Path
) -> None:
    _, proof, base = make(spark, old, 2, 2)
    assert proof.equal
    assert base == 2
