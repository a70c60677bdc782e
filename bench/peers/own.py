"""Our own jobs behind the port of the engines: live versions of the stack, stopped and started in place."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from functools import cached_property

from bench import batches
from bench.catch_up import in_turn
from bench.live import Database, Version, differences
from bench.peers.engines import Task
from bench.peers.expected import Rows
from bench.victims import GROUPS, Target, strike
from cli import lifecycle_verbs
from kappa.core.installation.settings import Settings

JOB, SPEND = "ad_ctr", "client_spend"
PROCESSES = (GROUPS[Target.JVM], GROUPS[Target.PYTHON], GROUPS[Target.EXECUTOR])
FRESH_SECONDS = 60.0


class Own:
    """`ad_ctr` of the running stack, by itself or while `client_spend` runs, too.

    They must be stopped, and have read the log to the beginning of the task.
    """

    table = f"serving.{JOB}_minute"

    def __init__(self, settings: Settings, with_spend: bool = False) -> None:
        self.jobs = (JOB, SPEND) if with_spend else (JOB,)
        self.name = f"ours, {JOB} of both" if with_spend else "ours, alone"
        self.also = {f"ours, {SPEND} of both": f"serving.{SPEND}_day"} if with_spend else {}
        self.groups = ("Python workers", *(process.format(job) for job in self.jobs for process in PROCESSES))
        self._settings = settings
        self._begun_ms = 0.0
        self._started: Future[None] | None = None

    @cached_property
    def _database(self) -> Database:
        """Raises NotUp."""
        return Database(self._settings)

    @property
    def version(self) -> Version:
        """The live version of `ad_ctr`, as it is now. Raises NotLive."""
        return self._database.live_of([JOB])[0]

    def prepare(self, settings: Settings) -> None:
        """All is there."""

    def start(self, task: Task) -> None:
        """Have it started; the command returns later than the driver begins, so it runs beside."""
        self._begun_ms = self._database.now_ms()
        started = self._started = Future[None]()
        threading.Thread(target=self._start, args=(started,), name="start", daemon=True).start()

    def check(self) -> None:
        """Raises VerbFailed where the start failed."""
        if self._started is not None and self._started.done():
            self._started.result()

    def reading_ms(self) -> float | None:
        """When Spark planned the first batch with records."""
        version = self.version
        done = batches.since(self._database, version, self._begun_ms)
        return batches.planned_ms(self._settings, version, done[0]) if done else None

    def differences(self, task: Task, rows: Rows) -> int:
        """Of all that the jobs serve, by `reconcile`: their tables hold more than the task."""
        return differences(self._settings, *self.jobs)

    def kill(self) -> None:
        """The JVM of `ad_ctr`'s driver; Spark's master supervises it."""
        strike(self._settings, self._database, self.version, Target.JVM, FRESH_SECONDS)

    def stop(self) -> None:
        """Stop them in place, once their start is over; if they were started at all."""
        if self._started is None:
            return
        while not self._started.done():
            time.sleep(0.1)
        self._started = None
        in_turn(self._settings, lifecycle_verbs.stop_in_place, [*self.jobs])

    def _start(self, started: Future[None]) -> None:
        try:
            in_turn(self._settings, lifecycle_verbs.start_in_place, [*self.jobs])
            started.set_result(None)
        except BaseException as failure:
            started.set_exception(failure)
