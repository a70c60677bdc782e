"""When closed windows are evicted, by a batch of a query that goes on, and by one of the next on its checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jobs import schemas
from jobs.driver.eviction import SHARES, Eviction, SparkEvictor
from jobs.pipelines import windowed
from jobs.pipelines.pipeline import Run
from jobs.sinks.batch_sink import Committed
from kappa.core.job_catalog import find, resolve
from kappa.core.measures import MEASURES
from tests.jobs.records import MINUTE, NOON, record, uuid

DELAY = 10 * MINUTE
AD_CTR = find("ad_ctr")
RUN = Run(resolve(AD_CTR, {}), None, (0,), watermark_delay_ms=DELAY)


class Asked:
    """An evictor without Spark; the next batch is planned when the test says so."""

    def __init__(self) -> None:
        self.times, self.planned = 0, True

    def ask(self) -> None:
        """As of an evictor."""
        self.times, self.planned = self.times + 1, False

    def is_asked(self) -> bool:
        """As of an evictor."""
        return not self.planned


def _evicted(eviction: Eviction, evictor: Asked, batch_id: int, watermark_ms: int) -> bool:
    """Whether an eviction that is due by this batch is done, and by which look."""
    committed = Committed(batch_id=batch_id, watermark_ms=watermark_ms)
    assert not eviction.look(evictor, committed, DELAY), "asked for, or nothing is due"
    if evictor.planned:
        return False
    assert not eviction.look(evictor, replace(committed, batch_id=batch_id + 1), DELAY), "no batch is planned since"
    evictor.planned = True
    assert not eviction.look(evictor, replace(committed, batch_id=batch_id + 1), DELAY), "planned, and not committed"
    return eviction.look(evictor, replace(committed, batch_id=batch_id + 2), DELAY)


def _begun(evictor: Asked) -> Eviction:
    """That of a driver whose first batch, -1, is there; whether the second evicts has not been looked at."""
    eviction = Eviction()
    for batch_id in (None, -1, -1):
        assert not eviction.look(evictor, Committed(batch_id=batch_id), DELAY)
    assert evictor.times == 0
    return eviction


def test_a_driver_evicts_once_its_second_batch_is_there() -> None:
    evictor = Asked()
    eviction = _begun(evictor)
    assert _evicted(eviction, evictor, 7, 0)
    assert not _evicted(eviction, evictor, 9, NOON)
    assert evictor.times == 1


@pytest.mark.parametrize(("closed_ms", "due"), [(DELAY * SHARES[1], True), (DELAY * SHARES[0] - 1, False)])
def test_it_is_due_by_what_was_closed_since(closed_ms: float, due: bool) -> None:
    evictor = Asked()
    eviction = _begun(evictor)
    assert _evicted(eviction, evictor, 0, NOON)
    for batch_id, watermark in enumerate((0, NOON), start=3):
        assert not _evicted(eviction, evictor, batch_id, watermark)
    assert _evicted(eviction, evictor, 6, NOON + int(closed_ms)) is due


def test_a_query_that_ends_before_its_eviction_is_committed_leaves_it_to_the_next() -> None:
    evictor = Asked()
    eviction = _begun(evictor)
    eviction.look(evictor, Committed(batch_id=1), DELAY)
    evictor.planned = True
    eviction.again()
    assert _evicted(eviction, evictor, 2, NOON)
    eviction.again()
    assert not _evicted(eviction, evictor, 5, NOON), "none was under way"
    assert evictor.times == 2


class Stream:
    """One checkpoint, read by one query after another, each over one more file."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.served: dict[Any, Any] = {}

    def read(self, rows: list[tuple[Any, ...]], *, evicting: bool) -> int:
        """How many groups the state has after a batch over these records."""
        query = self.start()
        try:
            return self.go_on(query, rows, evicting=evicting)
        finally:
            query.stop()

    def start(self) -> StreamingQuery:
        """A query over the files."""
        (self._folder / "in").mkdir(exist_ok=True)
        source = self._spark.readStream.schema(schemas.RECORD).parquet(str(self._folder / "in"))
        writer = windowed.build(source, AD_CTR, RUN).writeStream.outputMode("update")
        return writer.option("checkpointLocation", str(self._folder / "cp")).foreachBatch(self._keep).start()

    def go_on(self, query: StreamingQuery, rows: list[tuple[Any, ...]], *, evicting: bool) -> int:
        """How many groups the state has after one more batch of the query, over these records."""
        evictor = SparkEvictor(self._spark)
        if evicting:
            evictor.ask()
        frame = self._spark.createDataFrame(rows, schemas.RECORD)
        frame.coalesce(1).write.mode("append").parquet(str(self._folder / "in"))
        query.processAllAvailable()
        assert not evictor.is_asked()
        assert query.lastProgress is not None
        return int(query.lastProgress["stateOperators"][0]["numRowsTotal"])

    def _keep(self, frame: DataFrame, _: int) -> None:
        """Serve a batch's rows."""
        for row in frame.collect():
            self.served[row["window_start"]] = tuple(row[name] for name in MEASURES)


def _minute(number: int, **fields: Any) -> tuple[Any, ...]:
    """A record of its own minute, on time."""
    return record(number, event_time=NOON + number * MINUTE, append_ms=NOON + number * MINUTE, **fields)


def test_a_batch_that_is_asked_to_frees_closed_windows_and_the_query_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = Stream(spark, tmp_path)
    query = stream.start()
    try:
        assert stream.go_on(query, [_minute(0), _minute(1)], evicting=True) == 2
        assert stream.go_on(query, [_minute(30)], evicting=False) == 3
        assert stream.go_on(query, [_minute(31)], evicting=False) == 4, "windows 0 and 1 are closed and stay"
        assert stream.go_on(query, [_minute(32)], evicting=True) == 3, "30, 31 and 32"
        assert stream.go_on(query, [_minute(33)], evicting=False) == 4
    finally:
        query.stop()
    assert stream.read([_minute(60)], evicting=False) == 5
    assert stream.read([_minute(61)], evicting=True) == 2, "another query on the same checkpoint evicts as well"


def test_a_window_goes_on_over_evictions_and_a_change_of_the_query(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path)
    for offset, evicting in enumerate((True, False, True, False)):
        resend = record(offset, event_id=uuid(0))
        stream.read([resend, record(offset + 10, event_time=NOON + (offset + 1) * MINUTE)], evicting=evicting)
    assert len(stream.served) == 5
    assert stream.served[min(stream.served)] == (1, 0, 5, 0, 4, 0, 20, 0), "one counts, four were seen"
