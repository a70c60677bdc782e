"""What queries ended by: shown as red lines until a batch is committed, and raised where it does not pass."""

from __future__ import annotations

import logging
from contextlib import suppress

from kafka.errors import KafkaError
from pyspark.errors import StreamingQueryException

from jobs.driver import batch_sizing, root_cause, watermark
from jobs.driver.log_identity import LogTooShort, LogWitness
from jobs.driver.registry import DriverRegistry
from jobs.driver.watermark import Ends, WatermarkTooFast
from jobs.postgres import TRANSIENT
from jobs.sinks.batch_sink import Committed
from jobs.sinks.ledger import CountedTwice
from kappa.core.checkpoint.reader import Checkpoint, DamagedOffsets, check, check_offsets
from kappa.core.log.kafka_log import Offsets
from kappa.core.refusals import Refusal
from kappa.core.store.location import StoreAway
from kappa.core.versions import Version

logger = logging.getLogger("kappa.driver")


class Failures:
    """The failures of a driver's queries. `why` is what ended the newest one and passes, "" where nothing did;
    `extra_delay_ms` is what watermarks were too fast by."""

    def __init__(self, version: Version, registry: DriverRegistry, checkpoint: Checkpoint, witness: LogWitness) -> None:
        self._version, self._registry, self._checkpoint, self._witness = version, registry, checkpoint, witness
        self.why = ""
        self.extra_delay_ms = 0
        self._is_red = True

    def show(self, in_a_row: int) -> None:
        """A query that ended by a failure is nobody's secret, from the first time until one commits."""
        self._is_red = True
        try:
            self._registry.raise_red("query", self._sentence(in_a_row))
        except TRANSIENT:
            logger.warning("postgres is away: %s", self.why)

    def _sentence(self, in_a_row: int) -> str:
        """What ended the query, and the batch that it left pending, where one can be told."""
        batch_id, topic, end = None, self._version.topic, Offsets()
        with suppress(DamagedOffsets, StoreAway):
            batch_id = self._checkpoint.newest_planned()
            if batch_id is not None and self._checkpoint.is_pending():
                end = self._checkpoint.planned(batch_id, topic).end
        return root_cause.sentence(self.why, in_a_row, batch_id, topic, self._registry.progress()[0], end)

    def look_recovered(self, committed: Committed, ends: Ends | None, known: Ends | None) -> None:
        """Take the red lines of failures away once a batch was committed, or nothing was unread after the query began:
        `known` are the `ends` of the log that were known then. A take-over proves nothing."""
        is_drained = ends is not known and batch_sizing.unread(committed.next_offsets, ends) == 0
        if not self._is_red or not (is_drained or committed.batch_id is not None):
            return
        try:
            self._registry.clear_red("failed", "query", "commit")
            self._is_red = False
        except TRANSIENT:
            logger.warning("postgres is away: the red lines stay")

    def judge(self, error: StreamingQueryException, failure: BaseException | None) -> None:
        """Go on after what passes; raise what does not. `failure` is what the query's sink raised, if it did. What
        Kafka refuses passes, as a right that is taken away for a while. More records than offsets pass where the
        checkpoint still joins the database."""
        if isinstance(failure, WatermarkTooFast):
            self.extra_delay_ms += failure.shortfall_ms + watermark.MARGIN_MS
            logger.warning("%s", failure)
            return
        if isinstance(failure, Refusal) and not isinstance(failure, KafkaError):
            raise failure
        if isinstance(failure, CountedTwice):
            self.check_checkpoint()
        if "OffsetOutOfRange" in str(error) or "KAFKA_DATA_LOSS" in str(error):
            self._witness.look(self._registry.progress()[0], self._registry.last_read())
            raise LogTooShort(self._version, root_cause.of(error)) from error
        self.why = root_cause.of(failure or error)
        logger.exception("the query ended and is started again", exc_info=error)

    def check_checkpoint(self) -> None:
        """Refuse a checkpoint that is not where the database is."""
        recorded = self._registry.newest_batch(self._version.generation)
        check(self._checkpoint, recorded)
        check_offsets(self._checkpoint, recorded, self._version.topic, self._registry.progress()[0])
