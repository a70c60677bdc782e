"""A stream job's driver: starts the version's query, keeps it going, stops it when asked to, gives up when it must."""

from __future__ import annotations

import importlib
import logging
import os
import time
from dataclasses import dataclass
from typing import Any

import psycopg
from kafka.errors import KafkaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jobs import catalog, reach, session, sources
from jobs.checkpoints import Checkpoint, check
from jobs.log import KafkaLog, check_stamping
from jobs.pipelines.pipeline import Run
from jobs.reach import Reach, WatermarkTooFast
from jobs.refusals import Refusal
from jobs.registry import DriverRegistry, Version, connect
from jobs.settings import Settings
from jobs.sinks.batch_sink import BatchSink, Committed
from jobs.sinks.ledger import Owner
from jobs.watcher import Watcher, own_beat

logger = logging.getLogger("kappa.driver")
POLL_SECONDS = 0.5
STATE_SECONDS = 10
RED_AFTER_FAILURES = 3
LONGEST_PAUSE_SECONDS = 30


class TopicReplaced(Refusal):
    """The topic was deleted and made again, or has other partitions than the version was staged for."""

    def __init__(self, version: Version, found: str) -> None:
        super().__init__(
            f"topic {version.topic} is not the one that {version.job} v{version.version} was staged for: {found}. "
            "Nothing was read. Replay it into a new version with './kappa reprocess'."
        )


class LogTooShort(Refusal):
    """Retention passed the position of the version: records that it never read are gone."""

    def __init__(self, version: Version, said: str) -> None:
        super().__init__(
            f"{version.job} v{version.version}: the log no longer holds what is to be read next ({said}). "
            "Nothing was skipped. Lengthen the retention, and replay into a new version with './kappa reprocess'."
        )


class Orphaned(Exception):  # noqa: N818 - an end, not an error
    """The process that started this driver is gone."""


@dataclass(frozen=True)
class Identity:
    """Who this driver is: its submission, its epoch, and the process that it must not outlive."""

    submission_id: str
    epoch: int
    parent_pid: int


class Driver:
    """Runs one version until it is asked to stop. Raises Refusal where going on would be wrong."""

    def __init__(self, settings: Settings, version: Version, registry: DriverRegistry, identity: Identity) -> None:
        self._settings, self._version, self._registry, self._identity = settings, version, registry, identity
        self._job = catalog.find(version.job)
        self._owner = Owner(
            self._job, version.version, identity.epoch, version.generation, version.topic, version.topic_id
        )
        self._checkpoint = Checkpoint(settings.checkpoint(version.job, version.version, version.generation))
        self._sink: BatchSink | None = None
        beat = own_beat(identity.epoch, identity.submission_id, version.generation, identity.parent_pid)
        self._watcher = Watcher(settings, version, beat, self._newest_committed)
        self._extra_delay_ms = 0
        self._why = ""

    def run(self) -> None:
        """Start the query, again and again where it ends for reasons that pass, until the registry asks to stop."""
        self._watcher.start()
        self._check_topic()
        check(self._checkpoint, self._registry.newest_batch(self._version.generation))
        spark = session.create(f"kappa-{self._version.job}-v{self._version.version}", self._version.settings)
        failures = 0
        try:
            while self._watcher.desired == "running":
                self._attempt(spark)
                failures = failures + 1 if self._newest_committed().batch_id is None else 0
                pause = min(2.0**failures, LONGEST_PAUSE_SECONDS)
                self._show(failures)
                if self._watcher.desired == "running":
                    time.sleep(pause)
        finally:
            self._watcher.stop()

    def _show(self, failures: int) -> None:
        """A query that ends again and again without a commit is nobody's secret."""
        said = f"the query ended {failures} times in a row without a commit: {self._why}"
        try:
            if failures >= RED_AFTER_FAILURES:
                self._registry.raise_red("query", said)
            else:
                self._registry.clear_red("query")
        except psycopg.OperationalError:
            logger.warning("postgres is away: %s", said)

    def _attempt(self, spark: SparkSession) -> None:
        """One query from start to end; what ends it and passes is kept in `_why`."""
        self._sink = None
        try:
            self._run_query(self._prepare(spark))
        except StreamingQueryException as error:
            self._judge(error)
        except (KafkaError, psycopg.OperationalError) as error:
            self._why = f"{type(error).__name__}: {error}"[:300]
            logger.warning("the query could not be started: %s", self._why)
        finally:
            if self._sink is not None:
                self._sink.close()

    def _run_query(self, writer: DataStreamWriter) -> None:
        query, looked = self._start(writer), time.monotonic()
        while query.isActive and self._watcher.desired == "running":
            self._check_parent()
            if time.monotonic() - looked > STATE_SECONDS:
                looked = time.monotonic()
                self._observe_state(query)
            time.sleep(POLL_SECONDS)
        self._finish(query, writer)

    def _prepare(self, spark: SparkSession) -> DataStreamWriter:
        """The query with a delay for the log as it is now, and its sink."""
        offsets, through = self._registry.progress()
        run = Run(
            self._version.settings,
            self._version.starts_at_ms,
            tuple(sorted(offsets)),
            reach.base_delay_ms(self._version.settings) + self._extra_delay_ms + self._skew_ms(offsets),
        )
        self._watcher.delay_ms = run.watermark_delay_ms
        logger.info(
            "watermark delay %s ms, %s ms of it for the read skew",
            run.watermark_delay_ms,
            run.watermark_delay_ms - reach.base_delay_ms(run.settings),
        )
        build = importlib.import_module(f"jobs.pipelines.{self._job.name}").build
        records = sources.stream(
            spark, self._settings.kafka, self._version.topic, self._version.start_offsets, run.settings
        )
        self._sink = BatchSink(
            self._owner,
            run,
            self._checkpoint,
            self._connect,
            Reach(through),
            lambda: self._watcher.ends,
            self._watcher.fresh_ends,
        )
        self._sink.committed = Committed(next_offsets=offsets)
        writer: DataStreamWriter = (
            build(records, run)
            .writeStream.queryName(self._job.name)
            .outputMode("update" if self._job.stateful else "append")
            .option("checkpointLocation", str(self._checkpoint.path))
            .foreachBatch(self._sink)
        )
        return writer

    def _start(self, writer: DataStreamWriter, once: bool = False) -> StreamingQuery:
        assert self._sink is not None
        cadence = f"{self._version.settings['cadence_ms']} milliseconds"
        query = (writer.trigger(once=True) if once else writer.trigger(processingTime=cadence)).start()
        self._sink.attach(query)
        return query

    def _finish(self, query: StreamingQuery, writer: DataStreamWriter) -> None:
        """Stop the query; a batch that it leaves pending is finished by this same code."""
        if not query.isActive:
            query.awaitTermination()
            return
        query.stop()
        if self._checkpoint.is_pending():
            self._start(writer, once=True).awaitTermination()

    def _judge(self, error: StreamingQueryException) -> None:
        """Go on after what passes; raise what does not."""
        failure = self._sink.failure if self._sink is not None else None
        if isinstance(failure, WatermarkTooFast):
            self._extra_delay_ms += failure.shortfall_ms + reach.MARGIN_MS
            logger.warning("%s", failure)
            return
        if isinstance(failure, Refusal):
            raise failure
        if "OffsetOutOfRange" in str(error) or "KAFKA_DATA_LOSS" in str(error):
            raise LogTooShort(self._version, str(error).splitlines()[0]) from error
        self._why = str(error).splitlines()[0][:300]
        logger.exception("the query ended and is started again", exc_info=error)

    def _skew_ms(self, offsets: dict[int, int]) -> int:
        if not self._job.stateful:
            return 0
        with KafkaLog(self._settings.kafka, self._version.topic) as log:
            return reach.read_skew_ms(log, offsets)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return connect(self._settings, self._version.job, self._version.version, self._identity.epoch)

    def _newest_committed(self) -> Committed:
        return self._sink.committed if self._sink is not None else Committed()

    def _observe_state(self, query: StreamingQuery) -> None:
        progress = query.lastProgress
        if not progress or "addBatch" not in progress["durationMs"]:
            return
        logger.info("batch %s took, in ms: %s", progress["batchId"], dict(progress["durationMs"]))
        if operators := progress["stateOperators"]:
            self._watcher.state = (operators[0]["numRowsTotal"], operators[0]["memoryUsedBytes"])

    def _check_topic(self) -> None:
        with KafkaLog(self._settings.kafka, self._version.topic) as log:
            topic = log.describe()
        check_stamping(topic)
        if topic.topic_id != self._version.topic_id:
            raise TopicReplaced(self._version, f"its id is {topic.topic_id}, not {self._version.topic_id}")
        if not set(self._version.start_offsets) <= set(topic.partitions):
            raise TopicReplaced(self._version, f"it has the partitions {topic.partitions}")

    def _check_parent(self) -> None:
        """A driver whose JVM was killed goes at once; what it would write is fenced anyway."""
        if os.getppid() != self._identity.parent_pid:
            raise Orphaned
