"""The program that tries an artifact on a copy of its version's checkpoint: one real batch, nothing written."""
# ruff: noqa: E402 - the path is put right before anything is imported by it

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

# Started as a file, this folder comes first on the path and would hide modules of other packages.
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jobs import outcome, query, session
from jobs.driver.registry import DriverRegistry
from jobs.rescale.change_store import PostgresChangeStore, check_open
from jobs.sinks.noop_sink import NoopSink
from kappa.core.changes import Outcome
from kappa.core.checkpoint.copies import copy_running
from kappa.core.checkpoint.reader import Checkpoint, checkpoint_of
from kappa.core.installation import settings as platform
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.store.location import Location

logger = logging.getLogger("kappa.trial")
PROGRAM = "trial"
LIMIT_SECONDS = 120.0
QUIET_SECONDS = 20.0
POLL_SECONDS = 0.2
_AWAY = ("org.apache.kafka.common.errors.TimeoutException", "NoResolvableBootstrap", "KafkaAdminClient")


class TrialFailed(Refusal):
    """The new code or settings do not run on the version's state and log."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(
            f"the trial of {name} on a copy of its checkpoint failed: {said}. The version runs on as it was; nothing "
            "was written. Mend the artifact, or replay it into a new version with './kappa reprocess'."
        )


class Running(Protocol):
    """What the trial asks of a query."""

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        """Whether it has not ended."""

    @property
    def status(self) -> Any:
        """What it does now; `message` says so in words."""


def main() -> int:
    """Try the change's artifact and settings; exit codes as in `jobs.outcome`."""
    given = outcome.arguments("Tries an artifact on a copy of one version's checkpoint.")
    settings = platform.load(given.home)
    changes = PostgresChangeStore(settings, given.job, given.version, given.change)
    return outcome.carry_out(partial(changes.leave, given.attempt), lambda: _run(settings, given))


def _run(settings: Settings, given: argparse.Namespace) -> Outcome:
    changes = PostgresChangeStore(settings, given.job, given.version, given.change)
    registry = DriverRegistry(settings, given.job, given.version)
    copy = Checkpoint(settings.scratch(given.change) / f"checkpoint-{given.attempt}")
    try:
        change = check_open(changes)
        version = replace(registry.describe(), settings=change.new.settings)
        spark = session.create(f"kappa-{PROGRAM}-{given.job}-v{given.version}", version.settings, store=settings.store)
        copy_running(checkpoint_of(settings, version).place, copy.place)
        run, sink = query.run_of(settings, version, registry.progress()[0]), NoopSink()
        writer = query.writer_of(spark, settings, version, run, copy, sink)
        return attempt(f"{given.job} v{given.version}", writer, copy, sink)
    except StreamingQueryException:
        raise
    except PySparkException as error:
        # Analysis of the query: the same code would be refused again.
        raise TrialFailed(f"{given.job} v{given.version}", _first_line(error)) from error
    finally:
        changes.close()
        registry.close()
        _end(copy.place)


def attempt(name: str, writer: DataStreamWriter, copy: Checkpoint, sink: NoopSink) -> Outcome:
    """Run the query until it has committed a batch in the copy, or there is nothing to read. Raises TrialFailed."""
    began, base = time.monotonic(), copy.newest_committed()
    running = writer.start()
    try:
        waited = wait_for_batch(running, lambda: progress_of(running, copy, base), time.monotonic, time.sleep)
        if not running.isActive:
            running.awaitTermination()
    except StreamingQueryException as error:
        if any(sign in str(error) for sign in _AWAY):
            raise
        raise TrialFailed(name, _first_line(error)) from error
    finally:
        running.stop()
    seconds = round(time.monotonic() - began, 1)
    evidence = {"seconds": seconds, "rows": sink.rows, "from_batch_id": base, "batch": waited}
    if waited == "running":
        raise TrialFailed(name, f"a batch was not through after {LIMIT_SECONDS:.0f} s")
    if waited == "none":
        return Outcome(f"{name} started on a copy of its checkpoint; there was nothing to read", evidence)
    return Outcome(f"{name} counted a batch of {sink.rows} rows on a copy of its checkpoint", evidence)


def progress_of(running: Running, copy: Checkpoint, base: int | None) -> str:
    """How far the batch after `base` is: `committed`; `none` where the query waits for records; else `running`."""
    waits = str(running.status["message"]).startswith("Waiting")
    if copy.newest_committed() != base:
        return "committed"
    return "none" if waits and copy.newest_planned() == base else "running"


def wait_for_batch(
    running: Running, progress: Callable[[], str], clock: Callable[[], float], sleep: Callable[[float], None]
) -> str:
    """Wait until a batch is committed, the query ended, or it is too late: no records for long, or not through."""
    began = clock()
    while (now := progress()) != "committed" and running.isActive:
        limit = QUIET_SECONDS if now == "none" else LIMIT_SECONDS
        if clock() - began > limit:
            break
        sleep(POLL_SECONDS)
    return now


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:500]


def _end(copy: Location) -> None:
    """End Spark before its files go."""
    spark = SparkSession.getActiveSession()
    if spark is not None:
        spark.stop()
    copy.delete()


if __name__ == "__main__":
    sys.exit(main())
