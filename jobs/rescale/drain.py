"""Finishing the batch that a version's driver left pending, with the code of this artifact."""

from __future__ import annotations

import logging
import os
from functools import partial

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from jobs import query
from jobs.driver import watermark
from jobs.driver.registry import DriverRegistry
from jobs.driver.watcher import fresh_ends
from jobs.driver.watermark import WatermarkTooFast
from jobs.rescale.generations import check_settled
from kappa.core.checkpoint.reader import check, check_offsets, checkpoint_of
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.versions import Version

logger = logging.getLogger("kappa.drain")
TRIES = 3


def drain(spark: SparkSession, settings: Settings, registry: DriverRegistry, name: str) -> int | None:
    """Fence every driver of the version off, then finish its pending batch; its id, None where none was pending.

    `name` stands for a submission in the registry's list of drivers. Raises Refusal where the checkpoint is not where
    the database is, or the batch may not be committed; StreamingQueryException for what may pass.
    """
    version, epoch = registry.seize(name, os.getpid())
    checkpoint, recorded = checkpoint_of(settings, version), registry.newest_batch(version.generation)
    check(checkpoint, recorded)
    check_offsets(checkpoint, recorded, version.topic, registry.progress()[0])
    pending = checkpoint.newest_planned()
    if not checkpoint.is_pending():
        return None
    extra_delay_ms = 0
    for _ in range(TRIES):
        try:
            _finish(spark, settings, version, registry, epoch, extra_delay_ms)
            break
        except WatermarkTooFast as failure:
            extra_delay_ms += failure.shortfall_ms + watermark.MARGIN_MS
            logger.warning("%s", failure)
    check_settled(checkpoint)
    return pending


def _finish(
    spark: SparkSession, settings: Settings, version: Version, registry: DriverRegistry, epoch: int, extra_delay_ms: int
) -> None:
    """One attempt at the pending batch; a refusal of the sink is raised as such."""
    progress = registry.progress()
    run = query.run_of(settings, version, progress[0], extra_delay_ms)
    ends, last_read = partial(fresh_ends, settings, version, epoch), registry.last_read()
    witness = query.witness_of(settings, version)
    sink = query.sink_of(settings, version, epoch, run, progress, lambda: None, ends, witness, last_read)
    try:
        witness.look(progress[0], last_read)
        query.finish_pending(
            query.writer_of(spark, settings, version, run, checkpoint_of(settings, version), sink), sink
        )
    except StreamingQueryException as error:
        if isinstance(sink.failure, Refusal):
            raise sink.failure from error
        raise
    finally:
        sink.close()
        witness.close()
