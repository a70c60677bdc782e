"""A program: some batches of a job over made-up records, so that its JVM loads the classes that a driver needs.

The JVM is told by its options to archive them as it ends (stack/services/class_archive.py).
"""

from __future__ import annotations

import sys
import tempfile
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs import session
from jobs.pipelines import windowed
from jobs.pipelines.pipeline import Run
from kappa.core import job_catalog

JOB = job_catalog.find("ad_ctr")
BATCHES = 3
LONGEST_SECONDS = 300.0
_EVENT = (
    '{"event_id":"00000000-0000-0000-0000-0000%08d","event_type":"%s","slot_id":"s","client_id":"c","ad_id":"a",'
    '"user_id":"u","event_time":%d,"cost_micros":5}'
)


def main() -> int:
    """Run the batches; 1 where they do not end."""
    settings = job_catalog.resolve(JOB, {})
    spark = session.create("rehearsal", settings)
    context = spark.sparkContext
    gateway = context._gateway
    assert gateway is not None, "a session has a JVM"
    done = _run(spark, settings)
    spark.stop()
    gateway.shutdown()
    assert gateway.proc.stdin is not None
    gateway.proc.stdin.close()
    return int(not done or gateway.proc.wait(LONGEST_SECONDS) != 0)


def _run(spark: SparkSession, settings: dict[str, int]) -> bool:
    """Whether the query came through its batches in time."""
    with tempfile.TemporaryDirectory() as folder:
        built = windowed.build(_records(spark), JOB, Run(settings, None, (0,), 60_000))
        writer = built.writeStream.outputMode("update").option("checkpointLocation", folder).foreachBatch(_take)
        query = writer.trigger(processingTime="100 milliseconds").start()
        end = time.monotonic() + LONGEST_SECONDS
        while query.isActive and (query.lastProgress or {"batchId": 0})["batchId"] < BATCHES:
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        going = query.isActive
        query.stop()
        return going


def _take(frame: DataFrame, _: int) -> None:
    frame.toArrow()


def _records(spark: SparkSession) -> DataFrame:
    """RECORD rows of one partition, a hundred a second."""
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    at_ms = F.unix_millis("timestamp")
    kind = F.when(F.col("value") % 7 == 0, "click").otherwise("impression")
    value = F.format_string(_EVENT, "value", kind, at_ms)
    return ticks.select(
        F.lit(0).alias("partition"), F.col("value").alias("offset"), at_ms.alias("append_ms"),
        F.lit(True).alias("stamped"), F.lit("u").cast("binary").alias("key"), value.cast("binary").alias("value"),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
