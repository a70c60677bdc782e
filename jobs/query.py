"""A version's query put together: its run, its sink and its writer, for the driver's loop and for finite programs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jobs import sources
from jobs.driver import watermark
from jobs.driver.log_identity import LogWitness, once_there
from jobs.driver.registry import connect
from jobs.driver.watermark import Ends, Reach
from jobs.pipelines import quarantine, windowed
from jobs.pipelines.pipeline import Run
from jobs.sinks.batch_sink import BatchSink, Committed
from jobs.sinks.ledger import Owner
from kappa.core import job_catalog
from kappa.core.checkpoint.reader import Checkpoint, checkpoint_of
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import KafkaLog, LastRead, Offsets
from kappa.core.versions import Version

logger = logging.getLogger("kappa.query")
FIRST_RECORDS = 2_000
"""What a process reads in its first batch: cold, a record takes several times as long."""
POLL_SECONDS = 0.3


def run_of(settings: Settings, version: Version, offsets: Offsets, extra_delay_ms: int = 0) -> Run:
    """The run of a query that starts at `offsets`, with a watermark delay for the log as it is now."""
    base_ms = watermark.base_delay_ms(version.settings)
    own_ms = extra_delay_ms + _skew_ms(settings, version, offsets)
    logger.info("watermark delay %s ms, %s ms of it for the read skew", base_ms + own_ms, own_ms)
    return Run(version.settings, version.starts_at_ms, tuple(sorted(offsets)), base_ms + own_ms)


def sink_of(
    settings: Settings,
    version: Version,
    epoch: int,
    run: Run,
    progress: tuple[Offsets, Mapping[int, int]],
    ends: Callable[[], Ends | None],
    fresh_ends: Callable[[Offsets], Ends],
    witness: LogWitness,
    last_read: Mapping[int, LastRead],
) -> BatchSink:
    """The sink that commits the version's batches as the owner of `epoch`; `progress` and `last_read` as the registry
    tells them."""
    offsets, through = progress
    sink = BatchSink(
        owner_of(version, epoch),
        run,
        checkpoint_of(settings, version),
        partial(connect, settings, version.job, version.version, epoch),
        Reach(dict(through)),
        ends,
        fresh_ends,
        witness,
        last_read,
    )
    sink.committed = Committed(next_offsets=offsets)
    return sink


def owner_of(version: Version, epoch: int) -> Owner:
    """Who writes the version's batches."""
    return Owner(
        job_catalog.find(version.job), version.version, epoch, version.generation, version.topic, version.topic_id
    )


def writer_of(
    spark: SparkSession,
    settings: Settings,
    version: Version,
    run: Run,
    checkpoint: Checkpoint,
    callback: Callable[[DataFrame, int], None],
) -> DataStreamWriter:
    """The version's query over the log, not started: each batch goes to `callback`."""
    job = job_catalog.find(version.job)
    records = sources.stream(
        spark, settings.kafka_access(KafkaUser.STREAM), version.topic, version.start_offsets, run.settings
    )
    built = windowed.build(records, job, run) if job.stateful else quarantine.build(records, run)
    writer: DataStreamWriter = (
        built.writeStream.queryName(version.job)
        .outputMode("update" if job.stateful else "append")
        .option("checkpointLocation", str(checkpoint.place))
        .foreachBatch(callback)
    )
    return writer


def start(writer: DataStreamWriter, run: Run) -> StreamingQuery:
    """Start the query at the cadence of its run."""
    return writer.trigger(processingTime=f"{run.settings['cadence_ms']} milliseconds").start()


def start_one_batch(writer: DataStreamWriter) -> StreamingQuery:
    """Start the query for one batch: the next would come after an hour. `once` would read without a limit."""
    return writer.trigger(processingTime="1 hour").start()


def until_through(running: StreamingQuery, goes_on: Callable[[], bool]) -> None:
    """Wait for the batch of a query that was started for one, for as long as `goes_on` says so."""
    while running.isActive and goes_on() and not is_through(running):
        time.sleep(POLL_SECONDS)


def is_through(running: StreamingQuery) -> bool:
    """Whether a query that was started for one batch has committed it, or has found nothing to read."""
    return bool(running.status["message"] == "Waiting for next trigger")


def end_after_batch(running: StreamingQuery, seconds: int) -> None:
    """Have the query begin no other batch, and wait for its end, at most for so long. Raises StreamingQueryException.

    `stop` would interrupt the batch, and who finishes it then has to load the whole state anew. An execution whose
    state is TERMINATED ends by itself after the batch that it is at (StreamExecution of Spark 4.2.0; no public call
    does so).
    """
    context = SparkContext._active_spark_context
    assert context is not None, "a running query has a session"
    assert context._jvm is not None, "and that has a JVM"
    runtime = context._jvm.org.apache.spark.sql.execution.streaming.runtime
    running._jsq.streamingQuery().state().set(getattr(getattr(runtime, "TERMINATED$"), "MODULE$"))
    running.awaitTermination(seconds)


def finish_pending(writer: DataStreamWriter, sink: BatchSink) -> None:
    """Run the one batch that was planned and not committed. Raises StreamingQueryException."""
    query = writer.trigger(once=True).start()
    sink.attach(query)
    query.awaitTermination()


def witness_of(settings: Settings, version: Version) -> LogWitness:
    """Who says whether the log is the one that the version has read."""
    return LogWitness(version, partial(KafkaLog, settings.kafka_access(KafkaUser.STREAM), version.topic))


def _skew_ms(settings: Settings, version: Version, offsets: Offsets) -> int:
    if not job_catalog.find(version.job).stateful:
        return 0

    def ask() -> int:
        with KafkaLog(settings.kafka_access(KafkaUser.STREAM), version.topic) as log:
            return watermark.read_skew_ms(log, offsets)

    return once_there(ask)
