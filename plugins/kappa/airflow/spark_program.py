"""Finite Spark work as an Airflow task: one program of a change, run by spark-submit in the task and ended with it."""

from __future__ import annotations

from typing import Any

import psutil
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowSkipException

from kappa.airflow.task_context import LONG_TIMEOUT, Conduct, acting
from kappa.core.changes import ENDED, Phase
from kappa.core.installation.needs import FINITE_CORES, SPARK_CONNECTION, SPARK_POOL
from kappa.verbs.change import steps as changing
from kappa.verbs.drivers import finite_program
from kappa.verbs.drivers.finite_program import Program

FIRST = 100


class FiniteSparkOperator(SparkSubmitOperator):
    """Runs `jobs/<program>.py` of the artifact that the run's change is to switch to.

    What it runs is known only when the change has been begun, so everything is built in `execute`. Run again after it
    succeeded, it does nothing. Raises NotHolder, ChangeHasEnded, FiniteWorkRefused, FailedWhileHeld; what may pass
    (FiniteWorkFailed) is tried again, as is what ends without a word.
    """

    def __init__(self, *, verb: str, program: Program, **given: Any) -> None:
        # Of a pair that runs at the same time, the one that waits for the other must not take the last slot.
        placed = {"conn_id": SPARK_CONNECTION, "pool": SPARK_POOL.name, "pool_slots": FINITE_CORES}
        ends = {"execution_timeout": LONG_TIMEOUT, "priority_weight": FIRST}
        super().__init__(**{**placed, **ends, **given})
        self.verb = verb
        self.program = program

    def execute(self, context: Any) -> Any:
        """The sentence that the program ended with. Raises as the class says."""
        with acting(self.verb) as run:
            return self._work(run, context)

    def on_kill(self) -> None:
        """End the JVM and the Python process that is its child: killing the JVM alone would leave the latter behind."""
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
        settings, change = run.platform.settings, changing.of_run(run.platform, run.job, run.author)
        if self.program is Program.REPARTITION and not change.repartitions:
            raise AirflowSkipException("the number of state partitions stays: there is nothing to repartition")
        before = finite_program.outcome(settings, change, self.program)
        if before is not None and before.ok:
            return before.sentence
        if change.phase in ENDED:
            raise finite_program.ChangeHasEnded(self.program, change)
        # It would prepare all anew while nothing is counted; run as it was, the version counts again sooner.
        if before is not None and before.may_pass and change.phase is Phase.HELD:
            raise finite_program.FailedWhileHeld(self.program, change, before.sentence)
        finite_program.outcome_file(settings, change, self.program).unlink(missing_ok=True)
        self._take_on(finite_program.finite_work(settings, change, self.program))
        try:
            super().execute(context)
        except Exception:
            said = finite_program.outcome(settings, change, self.program)
            if said is None or said.ok:
                raise
            ended = finite_program.FiniteWorkFailed if said.may_pass else finite_program.FiniteWorkRefused
            raise ended(self.program, change, said.sentence) from None
        done = finite_program.outcome(settings, change, self.program)
        if done is None:
            raise NoOutcome(self.program)
        return done.sentence

    def _take_on(self, work: finite_program.FiniteWork) -> None:
        """Let the provider's operator run this work; nothing of an earlier try is kept."""
        self._hook = None
        self.name, self.application, self.jars = work.name, work.application, work.jars
        self.application_args = list(work.arguments)
        self.conf, self.env_vars = dict(work.configuration), dict(work.environment)
        self._driver_memory = work.driver_memory


class NoOutcome(Exception):  # noqa: N818 - it is what happened
    """A program ended well and left no outcome; worth another try."""

    def __init__(self, program: Program) -> None:
        super().__init__(f"the {program} ended with exit code 0 and left no outcome; it is tried again")


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
