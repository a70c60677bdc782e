"""A stream job's driver: starts the version's query, keeps it going, stops it when asked to, gives up when it must."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from kafka.errors import KafkaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jobs import query, session
from jobs.driver import batch_sizing, log_identity, root_cause, watermark
from jobs.driver.eviction import Eviction
from jobs.driver.registry import DriverRegistry
from jobs.driver.watcher import Watcher, own_beat
from jobs.driver.watermark import Ends, WatermarkTooFast
from jobs.pipelines.pipeline import Run
from jobs.postgres import TRANSIENT
from jobs.sinks.batch_sink import BatchSink, Committed, GaveWay
from jobs.sinks.ledger import CountedTwice, Fenced
from kappa.core.checkpoint.reader import DamagedOffsets, check, check_offsets
from kappa.core.kafka_log import Offsets
from kappa.core.refusals import Refusal
from kappa.core.settings import Settings
from kappa.core.versions import Version

logger = logging.getLogger("kappa.driver")
POLL_SECONDS = 0.5
STATE_SECONDS = 10
LONGEST_PAUSE_SECONDS = 30
BATCH_SECONDS = 60
"""A batch of a catch-up on busy cores; whoever asked for the stop waits for twice as long."""


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
        self._checkpoint = query.checkpoint_of(settings, version)
        self._sink: BatchSink | None = None
        self._earlier = Committed()
        beat = own_beat(identity.epoch, identity.submission_id, version.generation, identity.parent_pid)
        self._witness = query.witness_of(settings, version)
        self._watcher = Watcher(settings, version, beat, self._told, self._trouble)
        self._extra_delay_ms = 0
        self._why, self._is_red = "", True
        self._eviction = Eviction()
        self._cold = True

    def run(self) -> None:
        """Start the query, again and again where it ends for reasons that pass, until the registry asks to stop.

        Raises Fenced where a newer driver owns the version, also if there is nothing to write that would be refused.
        """
        self._watcher.start()
        try:
            log_identity.check_once_there(self._settings.kafka, self._version, self._goes_on, time.sleep)
            self._check_checkpoint()
            spark = session.create(f"kappa-{self._version.job}-v{self._version.version}", self._version.settings)
            self._run_while_wanted(spark)
            if self._watcher.taken_over:
                raise Fenced(query.owner_of(self._version, self._identity.epoch))
        finally:
            self._watcher.stop()
            self._witness.close()

    def _run_while_wanted(self, spark: SparkSession) -> None:
        failures = 0
        while self._goes_on():
            self._attempt(spark)
            failures = failures + 1 if self._newest_committed().batch_id is None else 0
            if self._why:
                self._show(max(1, failures))
            if self._watcher.is_wanted:
                time.sleep(min(2.0**failures, LONGEST_PAUSE_SECONDS))

    def _show(self, failures: int) -> None:
        """A query that ended by a failure is nobody's secret, from the first time until one commits."""
        self._is_red = True
        try:
            self._registry.raise_red("query", self._sentence(failures))
        except TRANSIENT:
            logger.warning("postgres is away: %s", self._why)

    def _sentence(self, failures: int) -> str:
        """What ended the query, and the batch that it left pending, where one can be told."""
        batch_id, topic, end = self._checkpoint.newest_planned(), self._version.topic, Offsets()
        if batch_id is not None and self._checkpoint.is_pending():
            with suppress(DamagedOffsets):
                end = self._checkpoint.planned(batch_id, topic).end
        return root_cause.sentence(self._why, failures, batch_id, topic, self._registry.progress()[0], end)

    def _look_recovered(self, sink: BatchSink, known: Ends | None) -> None:
        """Take the red lines of failures away once a batch was committed, or nothing was unread after the query began:
        `known` are the ends of the log that were known then. A take-over proves nothing."""
        ends = self._watcher.ends
        is_drained = ends is not known and batch_sizing.unread(sink.committed.next_offsets, ends) == 0
        if not self._is_red or not (is_drained or sink.committed.batch_id is not None):
            return
        try:
            self._registry.clear_red("failed", "query", "commit")
            self._is_red = False
        except TRANSIENT:
            logger.warning("postgres is away: the red lines stay")

    def _attempt(self, spark: SparkSession) -> None:
        """One query from start to end; what ends it and passes is kept in `_why`."""
        self._write_to(None)
        self._why = ""
        try:
            self._run_queries(spark)
        except (KafkaError, OSError, *TRANSIENT) as error:
            self._why = root_cause.of(error)
            logger.warning("the query could not be started: %s", self._why)
        finally:
            if self._sink is not None:
                self._sink.close()

    def _run_queries(self, spark: SparkSession) -> None:
        """Queries that follow one another, until one fails or none is wanted. Raises what does not pass."""
        try:
            if self._eviction.due:
                self._evict(spark)
            while self._watcher.is_wanted:
                if not self._follow(*self._prepare(spark, self._paced(), evicting=False)):
                    break
                if self._eviction.due:
                    self._evict(spark)
        except StreamingQueryException as error:
            self._judge(error)

    def _evict(self, spark: SparkSession) -> None:
        """Commit a batch that evicts closed windows by a query of its own, or find that there is nothing to read.

        Where a query gave way, it is the batch that was left pending. The first batch of a process reads few records,
        else a pause would be longer by all that was left unread in it.
        """
        most = self._version.settings["records_per_batch"]
        settings = {
            **self._version.settings,
            "records_per_batch": min(query.FIRST_RECORDS, most) if self._cold else most,
        }
        _, sink, writer = self._prepare(spark, settings, evicting=True)
        running = query.start_one_batch(writer)
        sink.attach(running)
        query.until_through(running, self._goes_on)
        self._finish(running, sink, writer)
        self._look_recovered(sink, self._watcher.ends)
        sink.close()
        self._eviction.done()
        self._cold = False

    def _follow(self, run: Run, sink: BatchSink, writer: DataStreamWriter) -> bool:
        """Run the query until it ends, or is to end. True: another goes on, after an eviction or at another pace."""
        known = self._watcher.ends
        running, looked, is_over = query.start(writer, run), time.monotonic(), False
        sink.attach(running)
        while running.isActive and self._watcher.is_wanted and not is_over:
            self._check_parent()
            self._look_recovered(sink, known)
            if time.monotonic() - looked > STATE_SECONDS:
                looked = time.monotonic()
                self._observe_state(running)
            sink.gives_way = self._eviction.look(sink.committed.watermark_ms, run.watermark_delay_ms)
            time.sleep(POLL_SECONDS)
            unread = batch_sizing.unread(sink.committed.next_offsets, self._watcher.ends)
            is_over = batch_sizing.is_over(run.settings, self._version.settings, unread)
        try:
            self._finish(running, sink, writer)
        except StreamingQueryException:
            if not isinstance(sink.failure, GaveWay):
                raise
            logger.info("closed windows are to be evicted: the query gives way to one that does it")
            return True
        finally:
            sink.close()
        return is_over

    def _paced(self) -> Mapping[str, int]:
        """The version's settings, with batches as large as it is far from the end of the log."""
        unread = batch_sizing.unread(self._registry.progress()[0], self._watcher.ends)
        return batch_sizing.begin(self._version.settings, unread or 0)

    def _prepare(
        self, spark: SparkSession, given: Mapping[str, int], *, evicting: bool
    ) -> tuple[Run, BatchSink, DataStreamWriter]:
        """The query by these settings, with a delay for the log as it is now, and its sink."""
        progress, last_read = self._registry.progress(), self._registry.last_read()
        self._witness.look(progress[0], last_read)
        version = replace(self._version, settings=given)
        run = query.run_of(self._settings, version, progress[0], self._extra_delay_ms, evicting=evicting)
        self._watcher.delay_ms = run.watermark_delay_ms
        sink = query.sink_of(
            self._settings,
            self._version,
            self._identity.epoch,
            run,
            progress,
            lambda: self._watcher.ends,
            self._watcher.fresh_ends,
            self._witness,
            last_read,
        )
        self._write_to(sink)
        return run, sink, query.writer_of(spark, self._settings, self._version, run, self._checkpoint, sink)

    def _finish(self, running: StreamingQuery, sink: BatchSink, writer: DataStreamWriter) -> None:
        """Let the query end after its batch; one that it leaves pending all the same is finished by this same code."""
        if not running.isActive:
            running.awaitTermination()
            return
        sink.gives_way = False
        if not query.is_through(running):
            query.end_after_batch(running, BATCH_SECONDS)
        running.stop()
        if self._checkpoint.is_pending():
            query.finish_pending(writer, sink)

    def _judge(self, error: StreamingQueryException) -> None:
        """Go on after what passes; raise what does not. More records than offsets pass where the checkpoint still joins
        the database."""
        failure = self._sink.failure if self._sink is not None else None
        if isinstance(failure, WatermarkTooFast):
            self._extra_delay_ms += failure.shortfall_ms + watermark.MARGIN_MS
            logger.warning("%s", failure)
            return
        if isinstance(failure, Refusal):
            raise failure
        if isinstance(failure, CountedTwice):
            self._check_checkpoint()
        if "OffsetOutOfRange" in str(error) or "KAFKA_DATA_LOSS" in str(error):
            self._witness.look(self._registry.progress()[0], self._registry.last_read())
            raise log_identity.LogTooShort(self._version, root_cause.of(error)) from error
        self._why = root_cause.of(failure or error)
        logger.exception("the query ended and is started again", exc_info=error)

    def _newest_committed(self) -> Committed:
        return self._sink.committed if self._sink is not None else Committed()

    def _write_to(self, sink: BatchSink | None) -> None:
        """The sink of the query that comes next; what the one before it committed is kept for the heartbeat."""
        self._earlier = self._told()
        self._sink = sink

    def _told(self) -> Committed:
        """What this driver committed last, by whichever query, and how far the present one is."""
        present = self._newest_committed()
        if present.batch_id is not None:
            return present
        return replace(self._earlier, next_offsets=present.next_offsets)

    def _trouble(self) -> str:
        """Why the present batch is not committed, where it has not been for a while."""
        return self._sink.trouble if self._sink is not None else ""

    def _observe_state(self, running: StreamingQuery) -> None:
        progress = running.lastProgress
        if not progress or "addBatch" not in progress["durationMs"]:
            return
        logger.info("batch %s took, in ms: %s", progress["batchId"], dict(progress["durationMs"]))
        if operators := progress["stateOperators"]:
            self._watcher.state = (operators[0]["numRowsTotal"], operators[0]["memoryUsedBytes"])

    def _check_checkpoint(self) -> None:
        """Refuse a checkpoint that is not where the database is."""
        recorded = self._registry.newest_batch(self._version.generation)
        check(self._checkpoint, recorded)
        check_offsets(self._checkpoint, recorded, self._version.topic, self._registry.progress()[0])

    def _goes_on(self) -> bool:
        self._check_parent()
        return self._watcher.is_wanted

    def _check_parent(self) -> None:
        """A driver whose JVM was killed goes at once; what it would write is fenced anyway."""
        if os.getppid() != self._identity.parent_pid:
            raise Orphaned
