"""A driver that stands by, warm, while another one runs: for what a change makes of the version, it begins when its
launch is there; for a driver that may die, when that one is gone."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs import outcome, query, session
from jobs.driver import registry as driver_registry
from jobs.driver.cpu_priority import Priority, Rank, hold_back
from jobs.driver.ownership import Failover
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
from kappa.core.store.location import Location, StoreAway
from kappa.core.versions import Version

logger = logging.getLogger("kappa.standby")
WARM = "kappa.warm"
"""Set in a session that has run a batch of records: what that compiles and loads is there."""
WARM_SECONDS = 200.0
POLL_SECONDS = 0.3
SETTLING_SECONDS = 10.0
"""So long the driver that has just taken over has the processor for itself, before the next one warms itself."""
HOLD_SECONDS = 30.0
"""So long the driver that is started again in place of the one that died is held back; it then does so itself."""
BEHIND_SECONDS = 30.0
"""A stream that is further behind catches up sooner without one that warms itself for a minute or two beside it."""


def stand_by(settings: Settings, registry: DriverRegistry, changes: ChangeStore, change_id: str) -> bool:
    """Warm this process for what a change makes of the version, then wait for the launch that bears the change's id.

    True: it is there, and this driver may claim it. False: the change has ended without it. What goes wrong in the
    warming makes the start slower, nothing else. Raises ParentGone, UnknownChange.
    """
    parent = os.getppid()
    if (called := _call(registry, changes, change_id)) is not None:
        return called
    version = replace(registry.describe(), settings=changes.read().new.settings)
    scratch = settings.scratch(change_id) / Mark.STANDBY
    _try_to_warm(settings, version, registry.progress()[0], scratch, lambda: True)
    outcome.check_parent(parent)
    changes.mark(Mark.STANDBY)
    logger.info("warm; waiting for launch %s", change_id)
    return wait_for_call(lambda: _call(registry, changes, change_id), lambda: outcome.check_parent(parent), time.sleep)


def await_failover(settings: Settings, registry: DriverRegistry, launch_id: str, submission_id: str) -> bool:
    """Stand by for the driver that holds a launch, and claim it once that one is gone, warm or not yet.

    True: it is claimed. False: it has ended. What goes wrong in the warming makes a later start slower, nothing else.
    Until then it leaves the processor to those that serve, and to its own stream alone while that catches up. Raises
    ParentGone.
    """
    version = registry.describe()
    watch = Watch(settings, version, registry, launch_id, submission_id)
    priority = Priority(os.getppid())
    priority.follow(Rank.LOW)
    try:
        watch.tell(warm=False)
        watch.wait(SETTLING_SECONDS)
        watch.wait_while_far_behind()
        scratch = settings.scratch(f"{launch_id}-{submission_id}")
        _try_to_warm(settings, version, registry.progress()[0], scratch, watch.goes_on)
        with suppress(OSError, StoreAway):
            scratch.delete()
        watch.tell(warm=True)
        logger.info("warm; standing by for launch %s", launch_id)
        watch.wait()
        if watch.answer:
            threading.Thread(target=hold_back, args=(os.getppid(), launch_id, HOLD_SECONDS), daemon=True).start()
        return bool(watch.answer)
    finally:
        priority.follow(Rank.USUAL)
        watch.close()


class Watch:
    """Looks at a launch that another driver holds, until there is an `answer`: whether it was claimed. A database that
    is away is asked again, and of a driver that was not seen since."""

    def __init__(
        self, settings: Settings, version: Version, registry: DriverRegistry, launch_id: str, submission_id: str
    ) -> None:
        connect = partial(driver_registry.connect, settings, version.job, version.version, None)
        self._failover, self._parent = Failover(connect, launch_id, submission_id), os.getppid()
        self._claim = partial(registry.claim, launch_id, submission_id)
        self.answer: bool | None = None

    def goes_on(self) -> bool:
        """Whether there is no answer yet. Raises ParentGone."""
        outcome.check_parent(self._parent)
        if self.answer is None:
            with self._outages():
                self.answer = True if self._claim() else self._failover.look()
        return self.answer is None

    def wait(self, seconds: float = math.inf) -> None:
        """Return at an answer, and after so many seconds at the latest."""
        deadline = time.monotonic() + seconds
        self._wait_while(lambda: time.monotonic() < deadline)

    def wait_while_far_behind(self) -> None:
        """Return at an answer, and once the stream is at most BEHIND_SECONDS behind the log."""
        self._wait_while(lambda: self._lag_seconds() > BEHIND_SECONDS)

    def tell(self, warm: bool) -> None:
        """Say that this driver stands by; of no weight for what it does."""
        with self._outages():
            if self.answer is None:
                self._failover.tell(warm)

    def close(self) -> None:
        """Close the connection."""
        self._failover.close()

    def _wait_while(self, holds: Callable[[], bool]) -> None:
        while self.goes_on() and holds():
            time.sleep(POLL_SECONDS)

    def _lag_seconds(self) -> float:
        """Of no end while the database does not say."""
        with self._outages():
            return self._failover.lag_seconds()
        return math.inf

    @contextmanager
    def _outages(self) -> Iterator[None]:
        try:
            yield
        except TRANSIENT as error:
            logger.warning("postgres is away: %s", str(error).splitlines()[:1])
            self._failover.close()


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
    spark: SparkSession,
    settings: Settings,
    version: Version,
    offsets: Offsets,
    scratch: Location,
    goes_on: Callable[[], bool],
) -> None:
    """Run a driver's query for a batch of the newest records before `offsets`, on an empty checkpoint in `scratch`, for
    as long as `goes_on` says so, and keep nothing of it: what a first batch compiles and loads is there afterwards."""
    start = _newest(settings, version, offsets)
    tried = replace(version, start_offsets=start, settings={**version.settings, "records_per_batch": FIRST_RECORDS})
    deadline, checkpoint = time.monotonic() + WARM_SECONDS, Checkpoint(scratch / "query")
    run = query.run_of(settings, tried, start)
    running = query.start_one_batch(query.writer_of(spark, settings, tried, run, checkpoint, NoopSink()))
    query.until_through(running, lambda: time.monotonic() < deadline and goes_on())
    if (done := running.lastProgress) and done["numInputRows"]:
        spark.conf.set(WARM, "true")
    running.stop()


def is_warm(spark: SparkSession) -> bool:
    """Whether `warm` has run a batch of records in this session."""
    return spark.conf.get(WARM, None) is not None


def _try_to_warm(
    settings: Settings, version: Version, offsets: Offsets, scratch: Location, goes_on: Callable[[], bool]
) -> None:
    spark = session.create(f"kappa-{version.job}-v{version.version}", version.settings, store=settings.store)
    try:
        warm(spark, settings, version, offsets or version.start_offsets, scratch, goes_on)
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
