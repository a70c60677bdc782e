"""Lost files of a checkpoint are told from what the database committed, exactly, or nothing is touched."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from kappa.core.checkpoint.reader import (
    PARTITIONS,
    Checkpoint,
    CheckpointLost,
    DatabaseBehind,
    ForeignCheckpoint,
    Planned,
    check,
    check_offsets,
)
from kappa.core.checkpoint.restore import Mend, NotRestorable, Source, carry_out, plan
from kappa.core.refusals import Refusal
from tests.rigs.checkpoint_folders import in_folder

TOPIC = "ad_events"


def batch(number: int) -> Planned:
    """What batch N ends at."""
    return Planned({0: 3 * number, 1: 5 * number}, 1_000 * number)


def source(*newest: int, partitions: int = 2) -> Source:
    """The database has committed up to these batches."""
    return Source(TOPIC, partitions, {number: batch(number) for number in newest})


def fill(path: Path, planned: int, committed: int, first: int = 0, repartitioned_at: int = 0) -> Checkpoint:
    """A checkpoint as Spark writes it: its batches, each with state of the version after it."""
    for folder in ("offsets", "commits", "state/0/0"):
        (path / folder).mkdir(parents=True)
    (path / "metadata").write_text('{"id":"8e5d1e0e-4d59-4a5c-9c12-1b3df63dbb94"}')
    for number in range(first, planned + 1):
        conf = {PARTITIONS: "2" if number >= repartitioned_at else "4", "spark.sql.x": "pinned"}
        told = {"batchWatermarkMs": batch(number).watermark_ms, "batchTimestampMs": 1, "conf": conf}
        ends = {TOPIC: {str(p): offset for p, offset in batch(number).end.items()}}
        (path / "offsets" / str(number)).write_text(f"v1\n{json.dumps(told)}\n{json.dumps(ends)}")
        (path / "state/0/0" / f"{number + 1}.changelog").write_text("state")
    for number in range(first, committed + 1):
        (path / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":7}')
    for file in [f for f in path.rglob("*") if f.is_file()]:
        file.with_name(f".{file.name}.crc").write_text("sum")
    return in_folder(path)


def text_of(path: Path) -> dict[str, str]:
    """Every file of a folder."""
    return {str(f.relative_to(path)): f.read_text() for f in sorted(path.rglob("*")) if f.is_file()}


def restore(checkpoint: Checkpoint, told: Source) -> list[str]:
    """The files that were mended; afterwards a start is allowed, and nothing is left to mend."""
    mends = plan(checkpoint, told)
    carry_out(checkpoint, mends)
    newest = max(told.committed)
    check(checkpoint, newest)
    check_offsets(checkpoint, newest, TOPIC, batch(newest).end)
    assert plan(checkpoint, told) == []
    return [mend.file for mend in mends]


def test_where_nothing_is_damaged_nothing_is_done(tmp_path: Path) -> None:
    checkpoint = fill(tmp_path, 9, 9)
    before = text_of(tmp_path)
    assert restore(checkpoint, source(8, 9)) == []
    assert text_of(tmp_path) == before


@pytest.mark.parametrize("text", ["", "v1\n{", None])
@pytest.mark.parametrize("number", [8, 9])
def test_a_plan_is_written_again_with_pinned_settings_end_and_watermark(
    tmp_path: Path, text: str | None, number: int
) -> None:
    checkpoint, file = fill(tmp_path, 9, 9), tmp_path / "offsets" / str(number)
    pinned = json.loads(file.read_text().splitlines()[1])
    file.unlink() if text is None else file.write_text(text)
    assert restore(checkpoint, source(8, 9)) == [f"offsets/{number}"]
    assert checkpoint.planned(number, TOPIC) == batch(number)
    assert json.loads(file.read_text().splitlines()[1]) == pinned
    assert not (tmp_path / "offsets" / f".{number}.crc").exists(), "its sum is that of the file that is gone"


def test_of_a_repartitioned_checkpoint_the_settings_of_its_own_plans_are_taken(tmp_path: Path) -> None:
    checkpoint = fill(tmp_path, 9, 9, repartitioned_at=9)
    (tmp_path / "offsets" / "9").unlink()
    with pytest.raises(NotRestorable, match="no plan is left to take Spark's pinned settings from"):
        plan(checkpoint, source(8, 9))


def test_a_plan_that_nobody_committed_goes_with_its_state(tmp_path: Path) -> None:
    checkpoint = fill(tmp_path, 10, 9)
    (tmp_path / "offsets" / "10").write_text("")
    assert restore(checkpoint, source(8, 9)) == ["offsets/10"]
    left = {int(file.stem) for file in (tmp_path / "state/0/0").glob("*.changelog")}
    assert max(left) == 10, "version 10 of the state is that after batch 9"


def test_the_newest_commit_is_taken_away_so_that_its_batch_runs_again(tmp_path: Path) -> None:
    checkpoint = fill(tmp_path, 9, 9)
    (tmp_path / "commits" / "9").write_text("v1")
    assert restore(checkpoint, source(8, 9)) == ["commits/9"]
    assert checkpoint.newest_committed() == 8


@pytest.mark.parametrize(("committed", "told"), [(9, (8, 9)), (9, (9, 10))], ids=["pending", "committed by the sink"])
def test_a_commit_before_a_planned_batch_is_told_by_that_batch(
    tmp_path: Path, committed: int, told: tuple[int, ...]
) -> None:
    checkpoint = fill(tmp_path, 10, committed)
    (tmp_path / "commits" / "9").write_text("")
    assert restore(checkpoint, source(*told)) == ["commits/9"]
    assert json.loads((tmp_path / "commits" / "9").read_text().splitlines()[1]) == {"nextBatchWatermarkMs": 10_000}


def test_where_the_commit_before_is_damaged_too_it_is_written_first(tmp_path: Path) -> None:
    checkpoint = fill(tmp_path, 9, 9)
    for number in ("8", "9"):
        (tmp_path / "commits" / number).write_text("")
    assert restore(checkpoint, source(8, 9)) == ["commits/8", "commits/9"]
    assert checkpoint.newest_committed() == 8


def test_a_lost_identity_is_made_anew(tmp_path: Path) -> None:
    checkpoint = fill(tmp_path, 9, 9)
    (tmp_path / "metadata").unlink()
    assert restore(checkpoint, source(8, 9)) == ["metadata"]


def test_a_batch_of_an_earlier_generation_is_not_guessed(tmp_path: Path) -> None:
    """Batch 8 is that of the repartition, which the database does not hold."""
    checkpoint = fill(tmp_path, 9, 9, repartitioned_at=8)
    (tmp_path / "offsets" / "8").unlink()
    with pytest.raises(NotRestorable, match="holds no batch 8 of this generation"):
        plan(checkpoint, source(9))


def test_a_checkpoint_without_any_plan_is_not_guessed(tmp_path: Path) -> None:
    checkpoint = fill(tmp_path, 0, 0)
    (tmp_path / "offsets" / "0").write_text("")
    with pytest.raises(NotRestorable, match="no plan is left"):
        plan(checkpoint, source(0))


@pytest.mark.parametrize(
    ("planned", "committed", "told", "error"),
    [
        (7, 7, (8, 9), CheckpointLost),
        (9, 7, (8, 9), CheckpointLost),
        (9, -1, (8, 9), CheckpointLost),
        (10, 10, (8, 9), DatabaseBehind),
        (9, 9, (), NotRestorable),
    ],
)
def test_a_state_that_is_not_that_of_the_database_is_refused(
    tmp_path: Path, planned: int, committed: int, told: tuple[int, ...], error: type[Refusal]
) -> None:
    with pytest.raises(error):
        plan(fill(tmp_path, planned, committed), source(*told))


def test_a_checkpoint_of_another_history_is_refused(tmp_path: Path) -> None:
    checkpoint = fill(tmp_path, 9, 9)
    (tmp_path / "commits" / "9").write_text("")
    other = Source(TOPIC, 2, {8: batch(8), 9: Planned({0: 1, 1: 1}, 0)})
    with pytest.raises(ForeignCheckpoint):
        plan(checkpoint, other)


DAMAGE = some.sampled_from(["", "v1", "v1\n{", "lost"])
FILES = ["metadata", *(f"{folder}/{n}" for folder in ("offsets", "commits") for n in range(4))]


@settings(deadline=None, max_examples=60)
@given(
    planned=some.integers(0, 3), behind=some.integers(0, 1), unwritten=some.booleans(),
    damage=some.dictionaries(some.sampled_from(FILES), DAMAGE, max_size=4),
)  # fmt: skip
def test_whatever_is_damaged_the_result_is_that_of_no_damage_or_nothing_is_touched(
    tmp_path_factory: pytest.TempPathFactory, planned: int, behind: int, unwritten: bool, damage: dict[str, str]
) -> None:
    """`behind`: Spark has not committed its newest plan; `unwritten`: the database has not, either."""
    path = tmp_path_factory.mktemp("checkpoint") / "g1"
    checkpoint = fill(path, planned, planned - behind)
    newest = planned - 1 if behind and unwritten else planned
    whole = text_of(path)
    for name, text in damage.items():
        if (path / name).exists():
            (path / name).unlink() if text == "lost" else (path / name).write_text(text)
    damaged = text_of(path)
    told = source(*(n for n in (newest - 1, newest) if n >= 0))
    try:
        restore(checkpoint, told)
    except Refusal:
        assert text_of(path) == damaged
    else:
        for number in range(max(0, (checkpoint.newest_planned() or 0) - 1), newest + 1):
            assert checkpoint.planned(number, TOPIC) == batch(number)
        kept = {name: text for name, text in text_of(path).items() if not name.endswith(".crc")}
        assert all(whole[name] == text for name, text in kept.items() if name not in damage and name in whole)
    shutil.rmtree(path)


@pytest.mark.parametrize("done", range(5))
def test_it_may_be_killed_and_done_again(tmp_path: Path, done: int) -> None:
    checkpoint = fill(tmp_path, 9, 9)
    for name in ("metadata", "offsets/8", "offsets/9", "commits/9"):
        (tmp_path / name).write_text("")
    mends: list[Mend] = plan(checkpoint, source(8, 9))
    assert len(mends) == 4
    carry_out(checkpoint, mends[:done])
    assert restore(checkpoint, source(8, 9)) == [mend.file for mend in mends[done:]]
