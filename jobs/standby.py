"""A driver that stands by: started and warmed while its predecessor still runs, it begins when its launch is there."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs import outcome, query, session
from jobs.driver.registry import DriverRegistry
from jobs.postgres import TRANSIENT
from jobs.query import FIRST_RECORDS
from jobs.rescale.change_store import ChangeStore
from jobs.sinks.noop_sink import NoopSink
from kappa.core.changes import Mark
from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.log.kafka_log import KafkaLog, Offsets
from kappa.core.store.location import Location
from kappa.core.versions import Version

logger = logging.getLogger("kappa.standby")
WARM_SECONDS = 200.0
POLL_SECONDS = 0.3


def stand_by(settings: Settings, registry: DriverRegistry, changes: ChangeStore, change_id: str) -> bool:
    """Warm this process for what a change makes of the version, then wait for the launch that bears the change's id.

    True: it is there, and this driver may claim it. False: the change has ended without it. What goes wrong in the
    warming makes the start slower, nothing else. Raises ParentGone, UnknownChange.
    """
    parent = os.getppid()
    if (called := _call(registry, changes, change_id)) is not None:
        return called
    version = replace(registry.describe(), settings=changes.read().new.settings)
    _try_to_warm(settings, version, registry.progress()[0], settings.scratch(change_id) / Mark.STANDBY)
    outcome.check_parent(parent)
    changes.mark(Mark.STANDBY)
    logger.info("warm; waiting for launch %s", change_id)
    return wait_for_call(lambda: _call(registry, changes, change_id), lambda: outcome.check_parent(parent), time.sleep)


def wait_for_call(
    call: Callable[[], bool | None], check_parent: Callable[[], None], sleep: Callable[[float], None]
) -> bool:
    """Ask until the answer is not None; a database that is away is asked again. Raises what `check_parent` raises."""
    while True:
        check_parent()
        try:
            if (answer := call()) is not None:
                return answer
        except TRANSIENT as error:
            logger.warning("postgres is away: %s", str(error).splitlines()[:1])
        sleep(POLL_SECONDS)


def warm(
    spark: SparkSession, settings: Settings, version: Version, offsets: Offsets, scratch: Location, seconds: float
) -> None:
    """Run both queries of a driver for a batch of the newest records before `offsets`, on empty checkpoints in
    `scratch`, and keep nothing of it: what a first batch compiles and loads is there afterwards."""
    start = _newest(settings, version, offsets)
    tried = replace(version, start_offsets=start, settings={**version.settings, "records_per_batch": FIRST_RECORDS})
    deadline = time.monotonic() + seconds
    for evicting in (True, False):
        run = query.run_of(settings, tried, start, evicting=evicting)
        checkpoint = Checkpoint(scratch / ("evicting" if evicting else "following"))
        running = query.start_one_batch(query.writer_of(spark, settings, tried, run, checkpoint, NoopSink()))
        query.until_through(running, lambda: time.monotonic() < deadline)
        running.stop()


def _try_to_warm(settings: Settings, version: Version, offsets: Offsets, scratch: Location) -> None:
    spark = session.create(f"kappa-{version.job}-v{version.version}", version.settings, store=settings.store)
    try:
        warm(spark, settings, version, offsets or version.start_offsets, scratch, WARM_SECONDS)
    except (PySparkException, OSError) as error:
        logger.warning("the warming failed, so the first batch is slower: %s", str(error).splitlines()[:1])


def _newest(settings: Settings, version: Version, offsets: Offsets) -> Offsets:
    """Offsets from which FIRST_RECORDS are there, as far as the log still holds them."""
    each = FIRST_RECORDS // max(1, len(offsets))
    with KafkaLog(settings.kafka_access(KafkaUser.STREAM), version.topic) as log:
        earliest = log.earliest()
    return {p: max(earliest.get(p, 0), offset - each) for p, offset in offsets.items()}


def _call(registry: DriverRegistry, changes: ChangeStore, change_id: str) -> bool | None:
    """Whether this driver is to begin; None while that is open."""
    if registry.launch_has_ended(change_id) is not None:
        return True
    return False if changes.read().has_ended else None
