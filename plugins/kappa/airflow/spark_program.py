"""Finite Spark work as an Airflow task: one program of a change, on the cluster or, on one machine, in the task."""

from __future__ import annotations

import logging
from typing import Any
from uuid import uuid4

import psutil
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowSkipException

from kappa.airflow.task_context import LONG_TIMEOUT, Conduct, acting
from kappa.code.known_artifacts import sees_files
from kappa.core.changes import ENDED, Attempt, Change, Phase
from kappa.core.installation.needs import FINITE_CORES, SPARK_CONNECTION, SPARK_POOL
from kappa.platform import Platform
from kappa.verbs.change import steps as changing
from kappa.verbs.drivers import finite_program, program_on_cluster
from kappa.verbs.drivers.finite_program import EndedWithoutWord, Program
from kappa.verbs.drivers.program_on_cluster import NotPlaced

FIRST = 100
log = logging.getLogger(__name__)


class FiniteSparkOperator(SparkSubmitOperator):
    """Runs `jobs/<program>.py` of the artifact that the run's change is to switch to.

    Where there is a cluster of several hosts with room for it, it is a driver there, which a task that is tried again
    follows again; else the task itself runs it by spark-submit, and it ends with the task. What it runs is known only
    when the change has been begun, so everything is built in `execute`. Run again after it succeeded, it does nothing.
    Raises NotHolder, ChangeHasEnded, FiniteWorkRefused, FailedWhileHeld; what may pass (FiniteWorkFailed) is tried
    again, as is what ends without a word, and what no host takes where the task cannot run it itself (NotPlaced).
    """

    def __init__(self, *, verb: str, program: Program, **given: Any) -> None:
        # Of a pair that runs at the same time, the one that waits for the other must not take the last slot.
        placed = {"conn_id": SPARK_CONNECTION, "pool": SPARK_POOL.name, "pool_slots": FINITE_CORES}
        ends = {"execution_timeout": LONG_TIMEOUT, "priority_weight": FIRST}
        super().__init__(**{**placed, **ends, **given})
        self.verb = verb
        self.program = program
        self._on_cluster: tuple[Platform, Attempt] | None = None

    def execute(self, context: Any) -> Any:
        """The sentence that the program ended with. Raises as the class says."""
        with acting(self.verb) as run:
            return self._work(run, context)

    def on_kill(self) -> None:
        """End the program: on the cluster, or the JVM and the Python process that is its child: killing the JVM alone
        would leave the latter behind."""
        if self._on_cluster:
            program_on_cluster.end(*self._on_cluster)
        submitted = self._hook and self._hook._submit_sp
        if not submitted:
            return
        try:
            started = psutil.Process(submitted.pid)
            # The parent goes first: it would take its child's end for a program that has ended, and may end well.
            family = [started, *started.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in family:
            _kill(process)

    def _work(self, run: Conduct, context: Any) -> str:
        platform, change = run.platform, changing.of_run(run.platform, run.job, run.author)
        if self.program is Program.REPARTITION and not change.repartitions:
            raise AirflowSkipException("the number of state partitions stays: there is nothing to repartition")
        before = finite_program.outcome(platform, change, self.program)
        if before is not None and before.ok:
            return before.sentence
        if change.phase in ENDED:
            raise finite_program.ChangeHasEnded(self.program, change)
        # It would prepare all anew while nothing is counted; run as it was, the version counts again sooner.
        if before is not None and before.may_pass and change.phase is Phase.HELD:
            raise finite_program.FailedWhileHeld(self.program, change, before.sentence)
        # One that runs there already has the room that is looked for.
        left = program_on_cluster.running(platform, change, self.program, log.info)
        if left is None and (why := finite_program.why_in_the_task(platform, change, self.program)):
            log.info("%s, so this task runs the %s itself", why, self.program)
            self._run_here(platform, change, context)
        else:
            self._run_there(platform, change, context, left)
        done = finite_program.outcome(platform, change, self.program)
        if done is None:
            raise EndedWithoutWord(self.program, "with exit code 0")
        if not done.ok:
            # Another task has failed and says why; that this one was given up is no reason beside that.
            if changing.of_run(platform, run.job, run.author).phase is Phase.UNDONE:
                raise AirflowSkipException(f"the {change.verb} was taken back meanwhile: {done.sentence}")
            ended = finite_program.FiniteWorkFailed if done.may_pass else finite_program.FiniteWorkRefused
            raise ended(self.program, change, done.sentence)
        return done.sentence

    def _run_there(self, platform: Platform, change: Change, context: Any, left: Attempt | None) -> None:
        attempt = left or program_on_cluster.start(platform, change, self.program, log.info)
        self._on_cluster = (platform, attempt)
        try:
            program_on_cluster.follow(platform, change, self.program, attempt, log.info)
        except NotPlaced as waited:
            if not sees_files(platform.settings):
                log.warning("%s; this worker does not see the shared folder, so the task is tried again", waited)
                raise
            log.warning("%s, so this task runs it itself", waited)
            self._on_cluster = None
            self._run_here(platform, change, context)
        self._on_cluster = None

    def _run_here(self, platform: Platform, change: Change, context: Any) -> None:
        attempt = uuid4()
        finite_program.begin(platform, change, self.program, attempt)
        self._take_on(finite_program.finite_work(platform.settings, change, self.program, attempt))
        try:
            super().execute(context)
        except Exception:
            said = finite_program.outcome(platform, change, self.program)
            # Else what it said is why it ended so.
            if said is None or said.ok:
                raise

    def _take_on(self, work: finite_program.FiniteWork) -> None:
        """Let the provider's operator run this work; nothing of an earlier try is kept."""
        self._hook = None
        self.name, self.application, self.jars = work.name, work.application, work.jars
        self.application_args = list(work.arguments)
        self.conf, self.env_vars = dict(work.configuration), dict(work.environment)
        self._driver_memory = work.driver_memory


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
