"""What a task of finite Spark work stands on: an installation with a change, and a program that ends as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from kappa.airflow import spark_program
from kappa.airflow.spark_program import FiniteSparkOperator
from kappa.core.changes import Attempt, Change, Outcome, RunsAs
from kappa.core.installation.addresses import Postgres, Spark
from kappa.core.installation.settings import Settings
from kappa.core.versions import Desired
from kappa.verbs.change import steps as change_steps
from kappa.verbs.drivers.finite_program import Program
from tests.plugins.fakes import FakeCluster, FakeRegistry
from tests.plugins.stages import put_checkpoint_jar, store_apart

SETTINGS = {"executors": 0, "executor_memory_mb": 600, "executor_cores": 4, "state_partitions": 2}
OLD, NEW = RunsAs("0ld", SETTINGS, 1), RunsAs("0new", {**SETTINGS, "state_partitions": 4}, 2)
CHANGE = Change(UUID(int=7), "ad_ctr", 3, "rescale", "run", Desired.RUNNING, OLD, NEW)


class Crashed(Exception):  # noqa: N818 - it is what happened
    """spark-submit ended with an exit code."""


@dataclass
class FiniteTasks:
    """An installation with CHANGE, whose run holds the lease, and what its tasks of finite work do."""

    settings: Settings
    registry: FakeRegistry
    cluster: FakeCluster

    @property
    def platform(self) -> Any:
        """As a task sees it."""
        clock = self.registry.clock
        return SimpleNamespace(settings=self.settings, registry=self.registry, cluster=self.cluster, clock=clock)

    def began(self, monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
        """The run's change is this one."""
        monkeypatch.setattr(change_steps, "of_run", lambda *_: change)

    def leave(self, outcome: Outcome) -> None:
        """The newest try of the program ends."""
        self.registry.leave_outcome(self.attempt().attempt_id, outcome)

    def hide_files(self) -> None:
        """The store is a folder of its own, and the tasks' host does not see the shared one."""
        self.settings = store_apart(self.settings, self.settings.home)

    def attempt(self) -> Attempt:
        """The newest try."""
        found = self.registry.attempt(CHANGE.change_id, Program.REPARTITION)
        assert found is not None
        return found


EQUAL, OTHER_ROWS = Outcome("4 rows, equal.", {}), Outcome("other rows.", {}, ok=False)
AWAY = Outcome("OSError: the broker does not answer", {}, ok=False, may_pass=True)


def finite_tasks(home: Path, monkeypatch: pytest.MonkeyPatch) -> FiniteTasks:
    """On the embedded stack, with an artifact whose programs know of tries."""
    registry = FakeRegistry()
    made = FiniteTasks(Settings(home=home), registry, FakeCluster(registry))
    put_checkpoint_jar(made.settings)
    knows_attempts(made.settings)

    @contextmanager
    def acting(verb: str) -> Iterator[Any]:
        yield SimpleNamespace(platform=made.platform, job="ad_ctr", author=None)

    monkeypatch.setattr(spark_program, "acting", acting)
    made.began(monkeypatch, CHANGE)
    return made


def several_hosts(home: Path, monkeypatch: pytest.MonkeyPatch) -> FiniteTasks:
    """On hosts of its own, with room for the program and the next driver."""
    made = finite_tasks(home, monkeypatch)
    made.settings = replace(made.settings, postgres=Postgres("pg"), spark=Spark("spark://m1:7077"))
    return made


def knows_attempts(settings: Settings) -> None:
    """The artifact's programs leave their outcome in the registry."""
    program = settings.artifacts / NEW.artifact / "jobs" / "outcome.py"
    program.parent.mkdir(parents=True)
    program.write_text("--attempt")


def runs(
    monkeypatch: pytest.MonkeyPatch, tasks: FiniteTasks, leaves: Outcome | None, code: int
) -> list[FiniteSparkOperator]:
    """Let spark-submit leave an outcome (None: none) and end with an exit code; who ran it."""
    ran: list[FiniteSparkOperator] = []

    def execute(self: FiniteSparkOperator, context: Any) -> None:
        ran.append(self)
        if leaves is not None:
            tasks.leave(leaves)
        if code:
            raise Crashed(code)

    monkeypatch.setattr(SparkSubmitOperator, "execute", execute)
    return ran


def operator() -> FiniteSparkOperator:
    return FiniteSparkOperator(task_id="repartition", verb="rescale", program=Program.REPARTITION)


def execute() -> str:
    return FiniteSparkOperator.execute.__wrapped__(operator(), {})  # type: ignore[attr-defined,no-any-return]
