"""Finite Spark work as a task: what is started, what its outcome means, and that it ends with its task."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import psutil
import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowSkipException

from kappa.airflow import spark_program
from kappa.airflow.spark_program import FiniteSparkOperator
from kappa.cluster import DriverState
from kappa.core.changes import Attempt, Change, Outcome, Phase, RunsAs
from kappa.core.installation.addresses import Postgres, Spark
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.versions import Desired
from kappa.verbs.change import steps as change_steps
from kappa.verbs.drivers.finite_program import (
    ChangeHasEnded,
    EndedWithoutWord,
    FailedWhileHeld,
    FiniteWorkFailed,
    FiniteWorkRefused,
    Program,
    finite_work,
)
from stack.waiting import until
from tests.plugins.fakes import FakeCluster, FakeRegistry
from tests.plugins.stages import put_checkpoint_jar

SETTINGS = {"executors": 0, "executor_memory_mb": 600, "executor_cores": 4, "state_partitions": 2}
OLD, NEW = RunsAs("0ld", SETTINGS, 1), RunsAs("0new", {**SETTINGS, "state_partitions": 4}, 2)
CHANGE = Change(UUID(int=7), "ad_ctr", 3, "rescale", "run", Desired.RUNNING, OLD, NEW)


class Crashed(Exception):  # noqa: N818 - it is what happened
    """spark-submit ended with an exit code."""


@dataclass
class Installation:
    """An installation with CHANGE, whose run holds the lease."""

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

    def attempt(self) -> Attempt:
        """The newest try."""
        found = self.registry.attempt(CHANGE.change_id, Program.REPARTITION)
        assert found is not None
        return found


EQUAL, OTHER_ROWS = Outcome("4 rows, equal.", {}), Outcome("other rows.", {}, ok=False)
AWAY = Outcome("OSError: the broker does not answer", {}, ok=False, may_pass=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """The embedded stack, with an artifact whose programs know of tries."""
    registry = FakeRegistry()
    made = Installation(Settings(home=tmp_path), registry, FakeCluster(registry))
    put_checkpoint_jar(made.settings)
    knows_attempts(made.settings)

    @contextmanager
    def acting(verb: str) -> Any:
        yield SimpleNamespace(platform=made.platform, job="ad_ctr", author=None)

    monkeypatch.setattr(spark_program, "acting", acting)
    made.began(monkeypatch, CHANGE)
    return made


@pytest.fixture
def several_hosts(home: Installation) -> Installation:
    """The same on hosts of its own, with room for the program and the next driver."""
    home.settings = replace(home.settings, postgres=Postgres("pg"), spark=Spark("spark://m1:7077"))
    return home


def knows_attempts(settings: Settings) -> None:
    """The artifact's programs leave their outcome in the registry."""
    program = settings.artifacts / NEW.artifact / "jobs" / "outcome.py"
    program.parent.mkdir(parents=True)
    program.write_text("--attempt")


def runs(
    monkeypatch: pytest.MonkeyPatch, home: Installation, leaves: Outcome | None, code: int
) -> list[FiniteSparkOperator]:
    """Let spark-submit leave an outcome (None: none) and end with an exit code; who ran it."""
    ran: list[FiniteSparkOperator] = []

    def execute(self: FiniteSparkOperator, context: Any) -> None:
        ran.append(self)
        if leaves is not None:
            home.leave(leaves)
        if code:
            raise Crashed(code)

    monkeypatch.setattr(SparkSubmitOperator, "execute", execute)
    return ran


def operator() -> FiniteSparkOperator:
    return FiniteSparkOperator(task_id="repartition", verb="rescale", program=Program.REPARTITION)


def execute() -> str:
    return FiniteSparkOperator.execute.__wrapped__(operator(), {})  # type: ignore[attr-defined,no-any-return]


def test_the_program_runs_once_and_its_sentence_is_the_tasks_result(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = runs(monkeypatch, home, EQUAL, code=0)
    assert execute() == "4 rows, equal."
    assert execute() == "4 rows, equal."
    [first] = ran
    work = finite_work(home.settings, CHANGE, Program.REPARTITION, home.attempt().attempt_id)
    assert first.application.endswith("/0new/jobs/repartition.py")
    assert first.application_args == list(work.arguments)
    assert home.cluster.submissions == {}, "there is one machine"


def test_a_program_that_says_no_is_a_refusal(home: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, OTHER_ROWS, code=2)
    with pytest.raises(FiniteWorkRefused, match="ad_ctr v3: the repartition was refused"):
        execute()


def test_what_may_pass_is_tried_again_while_the_stream_runs(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, home, AWAY, code=1)
    with pytest.raises(FiniteWorkFailed, match="OSError: the broker does not answer") as failed:
        execute()
    assert not isinstance(failed.value, Refusal)
    runs(monkeypatch, home, EQUAL, code=0)
    assert execute() == "4 rows, equal."


def test_what_may_pass_is_not_tried_again_once_the_stream_stands_still(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version is run again as it was in the time that another try would take to come so far."""
    runs(monkeypatch, home, AWAY, code=1)
    with pytest.raises(FiniteWorkFailed):
        execute()
    home.began(monkeypatch, replace(CHANGE, phase=Phase.HELD))
    ran = runs(monkeypatch, home, EQUAL, code=0)
    with pytest.raises(FailedWhileHeld, match="OSError: the broker does not answer"):
        execute()
    assert ran == []


def test_a_program_that_dies_without_a_word_is_tried_again(home: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, None, code=1)
    with pytest.raises(Crashed):
        execute()


def test_a_no_of_an_earlier_try_is_not_taken_for_an_answer_now(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, home, OTHER_ROWS, code=2)
    with pytest.raises(FiniteWorkRefused):
        execute()
    runs(monkeypatch, home, None, code=137)
    with pytest.raises(Crashed):
        execute()


def test_a_good_end_without_an_outcome_is_none(home: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, None, code=0)
    with pytest.raises(EndedWithoutWord):
        execute()


def test_a_change_that_has_ended_gets_no_more_work(home: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    home.began(monkeypatch, replace(CHANGE, phase=Phase.UNDONE))
    ran = runs(monkeypatch, home, EQUAL, code=0)
    with pytest.raises(ChangeHasEnded, match="undone"):
        execute()
    assert ran == []


def test_a_change_of_cores_alone_repartitions_nothing(home: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    home.began(monkeypatch, replace(CHANGE, new=replace(NEW, generation=1)))
    with pytest.raises(AirflowSkipException):
        execute()


def test_on_several_hosts_the_program_runs_on_the_cluster(
    several_hosts: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = runs(monkeypatch, several_hosts, EQUAL, code=0)
    several_hosts.registry.clock.meanwhile.append(lambda: several_hosts.leave(EQUAL))
    assert execute() == "4 rows, equal."
    assert execute() == "4 rows, equal."
    assert (ran, several_hosts.cluster.running()) == ([], ["driver-0"])


def test_what_the_program_says_on_the_cluster_counts_as_if_the_task_had_run_it(several_hosts: Installation) -> None:
    meanwhile = several_hosts.registry.clock.meanwhile
    for said, raised in ((AWAY, FiniteWorkFailed), (OTHER_ROWS, FiniteWorkRefused)):
        meanwhile[:] = [partial(several_hosts.leave, said)]
        with pytest.raises(raised, match=said.sentence):
            execute()


def test_without_room_on_the_cluster_the_task_runs_the_program(
    several_hosts: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    several_hosts.cluster.free = 3
    ran = runs(monkeypatch, several_hosts, EQUAL, code=0)
    assert execute() == "4 rows, equal."
    assert (len(ran), several_hosts.cluster.submissions) == (1, {})


def test_a_task_that_is_tried_again_follows_what_runs_and_looks_for_no_room(
    several_hosts: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker of the first one was lost."""
    ran = runs(monkeypatch, several_hosts, EQUAL, code=0)

    def lost() -> None:
        raise KeyboardInterrupt

    meanwhile = several_hosts.registry.clock.meanwhile
    meanwhile.append(lost)
    with pytest.raises(KeyboardInterrupt):
        execute()
    several_hosts.cluster.free = 0
    meanwhile[-1] = lambda: several_hosts.leave(EQUAL)
    assert execute() == "4 rows, equal."
    assert (ran, several_hosts.cluster.running()) == ([], ["driver-0"])


def test_where_no_host_takes_it_in_time_the_task_runs_it(
    several_hosts: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else may have taken the room."""
    ran = runs(monkeypatch, several_hosts, EQUAL, code=0)

    def waits() -> None:
        if several_hosts.cluster.states["driver-0"] is DriverState.RUNNING:
            several_hosts.cluster.states["driver-0"] = DriverState.SUBMITTED

    several_hosts.registry.clock.meanwhile.append(waits)
    assert execute() == "4 rows, equal."
    assert (len(ran), several_hosts.cluster.states) == (1, {"driver-0": DriverState.KILLED})
    assert several_hosts.registry.clock.monotonic() == pytest.approx(61, abs=2)


def test_a_task_that_is_ended_ends_the_program_on_the_cluster(several_hosts: Installation) -> None:
    task = operator()

    def end() -> None:
        task.on_kill()
        raise KeyboardInterrupt

    several_hosts.registry.clock.meanwhile.append(end)
    with pytest.raises(KeyboardInterrupt):
        FiniteSparkOperator.execute.__wrapped__(task, {})  # type: ignore[attr-defined]
    assert several_hosts.cluster.states == {"driver-0": DriverState.KILLED}


def test_a_task_that_is_ended_takes_the_program_and_its_children_along() -> None:
    task = operator()
    child = f"import subprocess, sys; subprocess.run([{sys.executable!r}, '-c', 'import time; time.sleep(60)'])"
    process = subprocess.Popen([sys.executable, "-c", child])
    parent = psutil.Process(process.pid)
    assert until(lambda: bool(parent.children()), 30), "the program has begun no other"
    children = parent.children()
    task._hook = SimpleNamespace(_submit_sp=process)  # type: ignore[assignment]
    task.on_kill()
    assert process.wait(timeout=10) != 0
    assert psutil.wait_procs(children, timeout=10)[1] == []


def test_a_task_that_is_ended_before_it_started_anything_ends() -> None:
    operator().on_kill()
