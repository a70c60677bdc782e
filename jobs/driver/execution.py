"""The queries of a version, one after another: each is prepared, followed, and let end after its batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jobs import query, stagger, standby
from jobs.driver import batch_sizing
from jobs.driver.eviction import Eviction, SparkEvictor
from jobs.driver.failures import Failures
from jobs.driver.log_identity import LogWitness
from jobs.driver.ownership import Identity
from jobs.driver.registry import DriverRegistry
from jobs.driver.watcher import Watcher, own_beat
from jobs.metrics import DriverMetrics
from jobs.pipelines.pipeline import Run
from jobs.sinks.batch_sink import BatchSink, Committed
from kappa.core.checkpoint.reader import checkpoint_of
from kappa.core.installation.settings import Settings
from kappa.core.versions import Version

logger = logging.getLogger("kappa.driver")
POLL_SECONDS = 0.5
STATE_SECONDS = 10
BATCH_SECONDS = 60
"""A batch of a catch-up on busy cores; whoever asked for the stop waits for twice as long."""
WITH_REST = ("addBatch", "triggerExecution")
"""What Spark has the rest at the end of a batch in."""


class Execution:
    """Runs the version's queries for as long as its `watcher`, which tells what they have committed, says that they
    are wanted."""

    def __init__(
        self,
        settings: Settings,
        version: Version,
        registry: DriverRegistry,
        identity: Identity,
        witness: LogWitness,
        failures: Failures,
    ) -> None:
        self._settings, self._version, self._registry, self._identity = settings, version, registry, identity
        self._witness, self._failures = witness, failures
        self._checkpoint = checkpoint_of(settings, version)
        self._sink: BatchSink | None = None
        self._earlier = Committed()
        beat = own_beat(identity.epoch, identity.submission_id, version.generation, identity.parent_pid)
        self.watcher = Watcher(settings, version, beat, self._told, self._trouble)
        self.metrics = DriverMetrics(version, self._told, self._unread, lambda: not self.watcher.heartbeats.are_lost)
        self._eviction = Eviction()
        self._cold = True

    @property
    def committed(self) -> Committed:
        """What the newest query has committed."""
        return self._sink.committed if self._sink is not None else Committed()

    @property
    def failure(self) -> BaseException | None:
        """What the newest query's sink failed by."""
        return self._sink.failure if self._sink is not None else None

    def goes_on(self) -> bool:
        """Whether this driver is to go on. Raises Orphaned."""
        self._identity.check_parent()
        return self.watcher.is_wanted

    def run(self, spark: SparkSession) -> None:
        """Queries that follow one another, until one fails or none is wanted. Raises what ends one."""
        self._write_to(None)
        self._eviction.again()
        try:
            if self._cold and self._begins_with_few(spark):
                self._begin(spark)
            self._cold = False
            while self.watcher.is_wanted and self._follow(spark, *self._prepare(spark, self._paced())):
                pass
        finally:
            if self._sink is not None:
                self._sink.close()

    def _begin(self, spark: SparkSession) -> None:
        """Commit one batch of few records, or find that there is nothing to read: cold, a process takes several times
        as long for each, and whoever waits for the first result would wait for all that was left unread."""
        most = min(query.FIRST_RECORDS, self._version.settings["records_per_batch"])
        _, sink, writer = self._prepare(spark, {**self._version.settings, "records_per_batch": most})
        running = query.start_one_batch(writer)
        self.metrics.queries += 1
        sink.attach(running)
        query.until_through(running, self.goes_on)
        self._finish(running, sink, writer)
        ends = self.watcher.ends
        self._failures.look_recovered(sink.committed, ends, known=ends)
        sink.close()

    def _follow(self, spark: SparkSession, run: Run, sink: BatchSink, writer: DataStreamWriter) -> bool:
        """Run the query until it ends, or is to end. True: another goes on, at another pace."""
        known, evictor = self.watcher.ends, SparkEvictor(spark)
        sink.rest = partial(stagger.rest, self._version.job, run.settings["cadence_ms"])
        running, looked, is_over = query.start(writer, run), time.monotonic(), False
        self.metrics.queries += 1
        sink.attach(running)
        while running.isActive and self.watcher.is_wanted and not is_over:
            self._identity.check_parent()
            self._failures.look_recovered(sink.committed, self.watcher.ends, known=known)
            if time.monotonic() - looked > STATE_SECONDS:
                looked = time.monotonic()
                self._observe_state(running)
            if self._eviction.look(evictor, sink.committed, run.watermark_delay_ms):
                self.metrics.evictions += 1
                logger.info("closed windows were evicted, by batch %s at the latest", sink.committed.batch_id)
            time.sleep(POLL_SECONDS)
            unread = batch_sizing.unread(sink.committed.next_offsets, self.watcher.ends)
            is_over = batch_sizing.is_over(run.settings, self._version.settings, unread)
        try:
            self._finish(running, sink, writer)
        finally:
            sink.close()
        return is_over

    def _begins_with_few(self, spark: SparkSession) -> bool:
        """Whether a first batch of few records pays a query of its own, which loads the whole state once more: not
        where the first batch was planned by the driver before, and not in a process that has warmed itself."""
        if standby.is_warm(spark) or self._checkpoint.is_pending():
            return False
        unread = self._left_unread()
        return unread is None or unread > query.FIRST_RECORDS

    def _paced(self) -> Mapping[str, int]:
        """The version's settings, with batches as large as it is far from the end of the log."""
        return batch_sizing.begin(self._version.settings, self._left_unread() or 0)

    def _left_unread(self) -> int | None:
        """How many records the version's last query left unread, whichever driver ran it."""
        return batch_sizing.unread(self._registry.progress()[0], self.watcher.ends)

    def _prepare(self, spark: SparkSession, given: Mapping[str, int]) -> tuple[Run, BatchSink, DataStreamWriter]:
        """The query by these settings, with a delay for the log as it is now, and its sink."""
        progress, last_read = self._registry.progress(), self._registry.last_read()
        self._witness.look(progress[0], last_read)
        version = replace(self._version, settings=given)
        run = query.run_of(self._settings, version, progress[0], self._failures.extra_delay_ms)
        self.watcher.delay_ms = run.watermark_delay_ms
        sink = query.sink_of(
            self._settings,
            self._version,
            self._identity.epoch,
            run,
            progress,
            lambda: self.watcher.ends,
            self.watcher.fresh_ends,
            self._witness,
            last_read,
        )
        sink.await_turn = self.watcher.heartbeats.await_heard
        self._write_to(sink)
        return run, sink, query.writer_of(spark, self._settings, self._version, run, self._checkpoint, sink)

    def _finish(self, running: StreamingQuery, sink: BatchSink, writer: DataStreamWriter) -> None:
        """Let the query end after its batch; one that it leaves pending all the same is finished by this same code."""
        if not running.isActive:
            running.awaitTermination()
            return
        if not query.is_through(running):
            query.end_after_batch(running, BATCH_SECONDS)
        running.stop()
        if self._checkpoint.is_pending():
            query.finish_pending(writer, sink)
            self._eviction.again()

    def _write_to(self, sink: BatchSink | None) -> None:
        """The sink of the query that comes next; what the one before it committed is kept for the heartbeat."""
        self._earlier = self._told()
        self._sink = sink

    def _told(self) -> Committed:
        """What this driver committed last, by whichever query, and how far the present one is."""
        present = self.committed
        if present.batch_id is not None:
            return present
        return replace(self._earlier, next_offsets=present.next_offsets)

    def _unread(self) -> int | None:
        """How many records are unread, as far as the newest look at the log knows."""
        return batch_sizing.unread(self._told().next_offsets, self.watcher.ends)

    def _trouble(self) -> str:
        """Why the present batch is not committed, where it has not been for a while."""
        return self._sink.trouble if self._sink is not None else ""

    def _observe_state(self, running: StreamingQuery) -> None:
        progress = running.lastProgress
        if not progress or "addBatch" not in progress["durationMs"]:
            return
        self.metrics.phases = _worked(progress["durationMs"], self._sink.rested if self._sink else 0.0)
        logger.info("batch %s took, in ms: %s", progress["batchId"], self.metrics.phases)
        if operators := progress["stateOperators"]:
            self.watcher.state = (operators[0]["numRowsTotal"], operators[0]["memoryUsedBytes"])


def _worked(phases: Mapping[str, int], rested: float) -> dict[str, int]:
    """What a batch spent its time on, in ms, without the rest at its end."""
    rest_ms = round(rested * 1_000)
    return {name: max(0, ms - rest_ms) if name in WITH_REST else ms for name, ms in phases.items()}
