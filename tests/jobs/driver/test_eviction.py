"""When closed windows are evicted, and that queries which evict and which do not share one checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jobs import schemas
from jobs.driver.eviction import SHARES, Eviction
from jobs.pipelines import windowed
from jobs.pipelines.pipeline import Run
from jobs.sinks.batch_sink import BatchSink, GaveWay
from kappa.core.job_catalog import find, resolve
from kappa.core.measures import MEASURES
from tests.jobs.records import MINUTE, NOON, record, uuid
from tests.rigs.checkpoint_folders import in_folder

DELAY = 10 * MINUTE
AD_CTR = find("ad_ctr")
RUN = Run(resolve(AD_CTR, {}), None, (0,), watermark_delay_ms=DELAY)


def test_an_eviction_is_due_at_the_start_and_not_after_it() -> None:
    eviction = Eviction()
    assert eviction.due
    eviction.done()
    assert not eviction.look(NOON, DELAY)


@pytest.mark.parametrize(("closed_ms", "due"), [(DELAY * SHARES[1], True), (DELAY * SHARES[0] - 1, False)])
def test_it_is_due_by_what_was_closed_since(closed_ms: float, due: bool) -> None:
    eviction = Eviction()
    eviction.done()
    for watermark in (None, 0, NOON, NOON + int(closed_ms)):
        last = eviction.look(watermark, DELAY)
    assert last is due


class Stream:
    """One checkpoint, read by one query after another, each over one more file."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.served: dict[Any, Any] = {}

    def read(self, rows: list[tuple[Any, ...]], *, evicting: bool) -> int:
        """How many groups the state has after a batch over these records."""
        self.append(rows)
        query = self.writer(self.keep, evicting=evicting).trigger(once=True).start()
        query.awaitTermination()
        assert query.lastProgress is not None
        return int(query.lastProgress["stateOperators"][0]["numRowsTotal"])

    def append(self, rows: list[tuple[Any, ...]]) -> None:
        """One more file of records."""
        frame = self._spark.createDataFrame(rows, schemas.RECORD)
        frame.coalesce(1).write.mode("append").parquet(str(self._folder / "in"))

    def writer(self, callback: Callable[[DataFrame, int], None], *, evicting: bool) -> DataStreamWriter:
        """A query over the files, not started."""
        source = self._spark.readStream.schema(schemas.RECORD).parquet(str(self._folder / "in"))
        writer = windowed.build(source, AD_CTR, replace(RUN, evicting=evicting)).writeStream.outputMode("update")
        return writer.option("checkpointLocation", str(self._folder / "cp")).foreachBatch(callback)

    def keep(self, frame: DataFrame, _: int) -> None:
        """Serve a batch's rows."""
        for row in frame.collect():
            self.served[row["window_start"]] = tuple(row[name] for name in MEASURES)


def _minute(number: int, **fields: Any) -> tuple[Any, ...]:
    """A record of its own minute, on time."""
    return record(number, event_time=NOON + number * MINUTE, append_ms=NOON + number * MINUTE, **fields)


def test_only_an_evicting_query_frees_closed_windows(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path)
    assert stream.read([_minute(0), _minute(1)], evicting=True) == 2
    assert stream.read([_minute(30)], evicting=False) == 3
    assert stream.read([_minute(31)], evicting=False) == 4, "windows 0 and 1 are closed and stay"
    assert stream.read([_minute(32)], evicting=True) == 3, "30, 31 and 32"
    assert stream.read([_minute(33)], evicting=False) == 4


def test_a_window_goes_on_over_a_change_of_the_query(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path)
    for offset, evicting in enumerate((True, False, True, False)):
        resend = record(offset, event_id=uuid(0))
        stream.read([resend, record(offset + 10, event_time=NOON + (offset + 1) * MINUTE)], evicting=evicting)
    assert len(stream.served) == 5
    assert stream.served[min(stream.served)] == (1, 0, 5, 0, 4, 0, 20, 0), "one counts, four were seen"


class KeepingSink(BatchSink):
    """A sink that serves rows without a database; of the real one is left how a batch begins and ends."""

    def __init__(self, keep: Callable[[DataFrame, int], None]) -> None:
        self.gives_way, self.failure, self._keep, self._ready = False, None, keep, Event()
        self._ready.set()

    def _commit(self, frame: DataFrame, batch_id: int) -> None:
        self._keep(frame, batch_id)


def test_a_query_that_gives_way_leaves_its_batch_to_the_one_that_evicts(spark: SparkSession, tmp_path: Path) -> None:
    stream, checkpoint = Stream(spark, tmp_path), in_folder(tmp_path / "cp")
    stream.read([_minute(0), _minute(1)], evicting=True)
    stream.read([_minute(30)], evicting=False)
    stream.append([_minute(31)])
    sink = KeepingSink(stream.keep)
    sink.gives_way = True
    with pytest.raises(StreamingQueryException):
        stream.writer(sink, evicting=False).trigger(once=True).start().awaitTermination()
    assert isinstance(sink.failure, GaveWay)
    assert checkpoint.is_pending()
    assert len(stream.served) == 3, "of the batch nothing was computed"
    query = stream.writer(stream.keep, evicting=True).trigger(once=True).start()
    query.awaitTermination()
    assert not checkpoint.is_pending()
    assert len(stream.served) == 4
    assert query.lastProgress is not None
    assert query.lastProgress["stateOperators"][0]["numRowsTotal"] == 2, "30 and 31"
