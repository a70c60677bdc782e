"""A query that is to end commits the batch that it is at, and begins no other."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jobs import query
from kappa.core.checkpoint.reader import Checkpoint
from tests.jobs import streams
from tests.rigs.checkpoint_folders import folder_of, in_folder

PATIENCE_SECONDS = 300
"""For whatever must come; the machine may be busy."""


class HeldBatches:
    """A callback whose batches last until they are let go."""

    def __init__(self) -> None:
        self.begun, self.go, self.over, self.seen = threading.Event(), threading.Event(), threading.Event(), list[int]()

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Consume one batch, not at once."""
        self.seen.append(batch_id)
        self.begun.set()
        assert self.go.wait(2 * PATIENCE_SECONDS), "nobody let the batch go"
        frame.toArrow()
        self.over.set()

    def await_begun(self) -> None:
        """Wait for the first batch; fails the test if none comes."""
        assert self.begun.wait(PATIENCE_SECONDS), f"no batch has begun within {PATIENCE_SECONDS} s"


def _asked_to_end(spark: SparkSession, folder: Path) -> tuple[StreamingQuery, Checkpoint, HeldBatches]:
    """A stream over two files that was asked to end, and waited for in vain: the batch of the first file is held."""
    for number in (1, 2):
        streams.add(spark, folder / "in", [streams.event(number, 0)])
    batches, checkpoint = HeldBatches(), in_folder(folder / "g1")
    running = streams.writer(spark, folder / "in", folder_of(checkpoint), batches).start()
    batches.await_begun()
    query.end_after_batch(running, 1)
    return running, checkpoint, batches


def test_the_running_batch_is_committed_and_no_other_begun(spark: SparkSession, tmp_path: Path) -> None:
    running, checkpoint, batches = _asked_to_end(spark, tmp_path)
    batches.go.set()
    query.end_after_batch(running, PATIENCE_SECONDS)
    assert not running.isActive
    assert (checkpoint.newest_committed(), checkpoint.is_pending()) == (0, False)
    assert batches.seen == [0]


def test_a_batch_that_lasts_too_long_is_not_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    running, checkpoint, batches = _asked_to_end(spark, tmp_path)
    assert (batches.over.is_set(), checkpoint.newest_committed()) == (False, None)
    batches.go.set()
    running.stop()


@pytest.mark.parametrize(("goes_on", "committed"), [(True, 0), (False, None)])
def test_the_batch_of_a_query_for_one_is_waited_for_while_it_is_wanted(
    spark: SparkSession, tmp_path: Path, goes_on: bool, committed: int | None
) -> None:
    for number in (1, 2):
        streams.add(spark, tmp_path / "in", [streams.event(number, 0)])
    batches, checkpoint = HeldBatches(), in_folder(tmp_path / "g1")

    def wanted() -> bool:
        """Asked while it is waited for: only then the batch may end."""
        if goes_on:
            batches.go.set()
        return goes_on

    running = query.start_one_batch(streams.writer(spark, tmp_path / "in", folder_of(checkpoint), batches))
    batches.await_begun()
    query.until_through(running, wanted)
    assert (running.isActive, checkpoint.newest_committed(), batches.seen) == (True, committed, [0])
    batches.go.set()
    running.stop()
