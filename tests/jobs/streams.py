"""Small streams over files, with the one stateful operator of the windowed jobs, for tests of checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jobs import schemas
from jobs.transforms import windows
from kappa.core.job_catalog import find
from kappa.core.store.location import Location
from tests.jobs.records import MINUTE, NOON

DELAY_MS = 7_560_000
PARTITIONS = 2
"""Of the state; said by each stream, since a driver that used the session before leaves its own number."""


def event(number: int, window: int, ad: str = "a", cost: int = 5) -> tuple[Any, ...]:
    """An accepted EVENT row of a window."""
    when = NOON + window * MINUTE
    return (0, number, when, True, number.to_bytes(16, "big"), False, "s", "c", ad, "u", when, cost, None)


def add(spark: SparkSession, source: Path, events: list[tuple[Any, ...]]) -> None:
    """Append one file of events: one batch of the stream."""
    spark.createDataFrame(events, schemas.EVENT).coalesce(1).write.mode("append").parquet(str(source))


def nothing(_frame: DataFrame, _batch_id: int) -> None:
    """Consume a batch."""
    _frame.toArrow()


def writer(
    spark: SparkSession,
    source: Path,
    checkpoint: Path | Location,
    callback: Callable[[DataFrame, int], None] = nothing,
    job: str = "ad_ctr",
) -> DataStreamWriter:
    """The stream over the files, not started."""
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    events = spark.readStream.schema(schemas.EVENT).option("maxFilesPerTrigger", 1).parquet(str(source))
    counted = windows.counted(events.drop("reason", "append_ms", "stamped"), find(job), 10_000, DELAY_MS)
    started: DataStreamWriter = counted.writeStream.outputMode("update").foreachBatch(callback)
    return started.option("checkpointLocation", str(checkpoint))


def run(writer: DataStreamWriter) -> None:
    """Read all files that are there, one a batch."""
    writer.trigger(availableNow=True).start().awaitTermination()


def files(folder: Path) -> dict[str, bytes]:
    """All files of a folder, with what they hold."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
