"""A query that is to end commits the batch that it is at, and begins no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jobs import query
from jobs.checkpoints import Checkpoint
from tests.jobs import streams


class SlowBatches:
    """A callback whose batches last until they are let go."""

    def __init__(self) -> None:
        self.begun, self.go, self.seen = threading.Event(), threading.Event(), list[int]()

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Consume one batch, not at once."""
        self.seen.append(batch_id)
        self.begun.set()
        self.go.wait(30)
        frame.toArrow()


def _ended(
    spark: SparkSession, folder: Path, end: Callable[[StreamingQuery], None], seconds: float = 3
) -> tuple[Checkpoint, SlowBatches]:
    """The checkpoint of a stream over two files, ended while the batch of the first one runs, for `seconds` more."""
    for number in (1, 2):
        streams.add(spark, folder / "in", [streams.event(number, 0)])
    batches, checkpoint = SlowBatches(), Checkpoint(folder / "g1")
    running = streams.writer(spark, folder / "in", checkpoint.path, batches).start()
    assert batches.begun.wait(60)
    threading.Timer(seconds, batches.go.set).start()
    end(running)
    return checkpoint, batches


def test_the_running_batch_is_committed_and_no_other_begun(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint, batches = _ended(spark, tmp_path, lambda running: query.end_after_batch(running, 60))
    assert (checkpoint.newest_committed(), checkpoint.is_pending()) == (0, False)
    assert batches.seen == [0]


def test_a_batch_that_lasts_too_long_is_not_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    waited: list[float] = []

    def end(running: StreamingQuery) -> None:
        began = time.monotonic()
        query.end_after_batch(running, 1)
        waited.append(time.monotonic() - began)
        running.stop()

    _ended(spark, tmp_path, end, seconds=10)
    assert waited[0] < 9


@pytest.mark.parametrize(("goes_on", "committed"), [(True, 0), (False, None)])
def test_the_batch_of_a_query_for_one_is_waited_for_while_it_is_wanted(
    spark: SparkSession, tmp_path: Path, goes_on: bool, committed: int | None
) -> None:
    for number in (1, 2):
        streams.add(spark, tmp_path / "in", [streams.event(number, 0)])
    batches, checkpoint = SlowBatches(), Checkpoint(tmp_path / "g1")
    running = query.start_one_batch(streams.writer(spark, tmp_path / "in", checkpoint.path, batches))
    assert batches.begun.wait(60)
    threading.Timer(1, batches.go.set).start()
    query.until_through(running, lambda: goes_on)
    assert (running.isActive, checkpoint.newest_committed(), batches.seen) == (True, committed, [0])
    running.stop()
