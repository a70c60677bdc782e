"""The foreachBatch callback of a query: one action, then one transaction, again and again until it is in or refused."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from tenacity import RetryCallState, retry, retry_if_exception_type, stop_after_delay, wait_exponential_jitter

from jobs.driver import root_cause, watermark
from jobs.driver.log_identity import Answer, LogSilent, LogWitness
from jobs.driver.watermark import Ends, Reach
from jobs.pipelines.pipeline import Run
from jobs.postgres import TRANSIENT
from jobs.sinks import ledger, observations
from jobs.sinks.batch_connection import BatchConnection, Connect
from jobs.sinks.ledger import Batch, Owner, Written
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.log.kafka_log import LastRead, Offsets

logger = logging.getLogger("kappa.sink")
GIVE_UP_SECONDS = 900
TOLD_AFTER_SECONDS = 10.0
"""For so long a batch may be tried again before anybody is told."""


@dataclass
class Committed:
    """What the watcher tells of the newest batch; written by the callback, read by the heartbeat. Of `batch_ms`
    Spark's action took `action_ms`, the rest is the log's answer and the transaction. `at_ms` is the database's time of
    the batch: this machine's clock may be wrong."""

    batch_id: int | None = None
    batch_ms: int | None = None
    action_ms: int | None = None
    at_ms: int | None = None
    newest_event_ms: int | None = None
    watermark_ms: int | None = None
    next_offsets: dict[int, int] = field(default_factory=dict)


class BatchSink:
    """Writes the batches of one query; `failure` is the refusal that ended it, where one did; `trouble` says why the
    present batch has not been committed for TOLD_AFTER_SECONDS, and is empty otherwise.

    `await_turn` returns once the driver may begin a batch: at once, unless it is set to wait for something. `rest`
    is told how many seconds a batch took, once it is committed, may put off its end, and says by how many seconds it
    did; `rested` is that of the newest batch.
    """

    def __init__(
        self,
        owner: Owner,
        run: Run,
        checkpoint: Checkpoint,
        connect: Connect,
        read_through: Reach,
        ends: Callable[[], Ends | None],
        fresh_ends: Callable[[Offsets], Ends],
        witness: LogWitness,
        last_read: Mapping[int, LastRead],
    ) -> None:
        self._owner, self._run, self._checkpoint = owner, run, checkpoint
        self._reach, self._ends, self._fresh_ends = read_through, ends, fresh_ends
        self._witness, self._last_read = witness, last_read
        self._connection = BatchConnection(owner.job, connect)
        self._query: Any = None
        self._ready = threading.Event()
        self.failure: Exception | None = None
        self.trouble = ""
        self.await_turn: Callable[[], None] = lambda: None
        self.rest: Callable[[float], float] = lambda _: 0.0
        self.rested = 0.0
        self.committed = Committed()

    def attach(self, query: Any) -> None:
        """Let the callback run: it reads what the query's running batch observed."""
        self._query = query
        self._ready.set()

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Consume and commit one micro-batch; any failure is kept in `failure` and ends the query."""
        self._ready.wait()
        try:
            self.await_turn()
            began = time.monotonic()
            self._commit(frame, batch_id)
            self.rested = self.rest(time.monotonic() - began)
        except Exception as error:
            self.failure = error
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _commit(self, frame: DataFrame, batch_id: int) -> None:
        started = time.monotonic()
        table = frame.toArrow()
        acted = time.monotonic()
        seen = observations.of_running_batch(self._query)
        planned = self._checkpoint.planned(batch_id, self._owner.topic)
        batch = Batch(batch_id, planned.end, planned.watermark_ms, seen, table)
        last_read = {**self._last_read, **batch.last_read}
        # What came before the batch, too: a log that lost its end before it, and was longer again by then, holds all
        # that the batch itself has read.
        answer = self._witness.ask(batch.end, self._last_read, last_read)
        ends = self._check_watermark(batch)
        written = self._write_once_told(batch, ends, answer)
        self._last_read = last_read
        self._reach = self._reach.after(batch.end, seen.newest_append_ms, ends)
        self._tell(batch, written, started, acted)

    def _check_watermark(self, batch: Batch) -> Ends | None:
        """Look one batch ahead; where the known ends of the log are too old to tell, ask for new ones, and for the
        first unread record of partitions of which nothing is known."""
        if not self._owner.job.stateful:
            return self._ends()
        try:
            return self._judge(batch, self._ends())
        except (watermark.WatermarkTooFast, watermark.ReachUnknown):
            unknown = self._reach.after(batch.end, batch.observed.newest_append_ms, None).unknown(self._run.partitions)
            return self._judge(batch, self._fresh_ends({p: batch.end[p] for p in unknown}))

    def _judge(self, batch: Batch, ends: Ends | None) -> Ends | None:
        after = self._reach.after(batch.end, batch.observed.newest_append_ms, ends)
        watermark.check_watermark(
            batch.watermark_ms,
            batch.observed.newest_event_ms,
            self._run.watermark_delay_ms,
            after,
            self._run.partitions,
            self._run.settings["allowed_lateness_ms"],
        )
        return ends

    def _write_once_told(self, batch: Batch, ends: Ends | None, answer: Answer) -> Written:
        """Commit once the broker said that the log is the one that was read; it is asked beside the transaction.

        Away, it is waited for without a transaction that would hold the fence meanwhile. Raises LogSilent.
        """
        begun = time.monotonic()
        while True:
            try:
                return self._write(batch, ends, answer)
            except LogSilent as silent:
                if time.monotonic() - begun > GIVE_UP_SECONDS:
                    raise
                answer.wait(TOLD_AFTER_SECONDS)
                self.trouble = "" if answer.is_there else str(silent)
                answer.wait(GIVE_UP_SECONDS)

    @retry(
        retry=retry_if_exception_type(TRANSIENT),
        wait=wait_exponential_jitter(multiplier=0.2, max=5),
        stop=stop_after_delay(GIVE_UP_SECONDS),
        before_sleep=lambda state: state.args[0]._tried(state),
        reraise=True,
    )
    def _write(self, batch: Batch, ends: Ends | None, answer: Answer) -> Written:
        """One attempt at the transaction; a connection that broke is made anew for the next."""
        drained = dict.fromkeys(watermark.drained(batch.end, ends), ends.at_ms) if ends else {}
        known = dict(ends.offsets) if ends else {}
        try:
            connection = self._connection.ready(batch.rows.num_rows)
            written = ledger.write(connection, self._owner, batch, drained, known, answer.check)
        except TRANSIENT as error:
            self._connection.broke(error)
            raise
        self._connection.written()
        self.trouble = ""
        return written

    def _tried(self, state: RetryCallState) -> None:
        """An attempt failed, and is made again."""
        error = state.outcome.exception() if state.outcome else None
        if error is None:
            return
        logger.warning("the transaction is tried again: %s", next(iter(str(error).splitlines()), repr(error)))
        if (state.seconds_since_start or 0.0) > TOLD_AFTER_SECONDS:
            self.trouble = root_cause.of(error)

    def _tell(self, batch: Batch, written: Written, started: float, acted: float) -> None:
        took_ms, action_ms = (round((t - started) * 1000) for t in (time.monotonic(), acted))
        self.committed = Committed(
            batch_id=batch.batch_id,
            batch_ms=took_ms,
            action_ms=action_ms,
            at_ms=written.committed_ms,
            newest_event_ms=batch.observed.newest_event_ms,
            watermark_ms=batch.watermark_ms,
            next_offsets=dict(batch.end),
        )
        logger.info(
            "batch %s%s: %s records, %s rows, %s ms, %s of it the action",
            batch.batch_id,
            " (again)" if written.rewrite else "",
            batch.observed.read,
            written.rows,
            took_ms,
            action_ms,
        )
