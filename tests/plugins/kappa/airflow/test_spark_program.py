"""Finite Spark work as a task: what is started, what its outcome means, and that it ends with its task."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import psutil
import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowSkipException

from jobs.outcome import carry_out
from kappa.airflow import spark_program
from kappa.airflow.spark_program import FiniteSparkOperator, NoOutcome
from kappa.core.changes import Change, Outcome, Phase, RunsAs
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.core.versions import Desired
from kappa.verbs.change import steps as change_steps
from kappa.verbs.drivers.finite_program import (
    ChangeHasEnded,
    FailedWhileHeld,
    FiniteWorkFailed,
    FiniteWorkRefused,
    Program,
    finite_work,
    outcome_file,
)
from stack.waiting import until
from tests.plugins.stages import put_checkpoint_jar

SETTINGS = {"executor_memory_mb": 600, "executor_cores": 4, "state_partitions": 2}
OLD, NEW = RunsAs("0ld", SETTINGS, 1), RunsAs("0new", {**SETTINGS, "state_partitions": 4}, 2)
CHANGE = Change(UUID(int=7), "ad_ctr", 3, "rescale", "run", Desired.RUNNING, OLD, NEW)


class Crashed(Exception):  # noqa: N818 - it is what happened
    """spark-submit ended with an exit code."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A state folder whose run began CHANGE and holds the lease."""
    settings = Settings(home=tmp_path)
    put_checkpoint_jar(settings)

    @contextmanager
    def acting(verb: str) -> Any:
        yield SimpleNamespace(platform=SimpleNamespace(settings=settings), job="ad_ctr", author=None)

    monkeypatch.setattr(spark_program, "acting", acting)
    began(monkeypatch, CHANGE)
    return settings


def began(monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    monkeypatch.setattr(change_steps, "of_run", lambda *_: change)


def runs(monkeypatch: pytest.MonkeyPatch, settings: Settings, ok: bool | None, code: int) -> list[FiniteSparkOperator]:
    """Let spark-submit leave an outcome (None: none) and end with an exit code; who ran it."""
    ran: list[FiniteSparkOperator] = []

    def execute(self: FiniteSparkOperator, context: Any) -> None:
        ran.append(self)
        leave(settings, ok)
        if code:
            raise Crashed(code)

    monkeypatch.setattr(SparkSubmitOperator, "execute", execute)
    return ran


def leave(settings: Settings, ok: bool | None) -> None:
    file = outcome_file(settings, CHANGE, Program.REPARTITION)
    file.parent.mkdir(parents=True, exist_ok=True)
    if ok is not None:
        file.write_text(json.dumps({"ok": ok, "sentence": "4 rows, equal." if ok else "other rows.", "evidence": {}}))


def operator() -> FiniteSparkOperator:
    return FiniteSparkOperator(task_id="repartition", verb="rescale", program=Program.REPARTITION)


def execute() -> str:
    return FiniteSparkOperator.execute.__wrapped__(operator(), {})  # type: ignore[attr-defined,no-any-return]


def test_what_is_started_runs_from_the_artifact_that_the_version_is_to_run_as(home: Settings) -> None:
    for jar in ("b.jar", "a.jar"):
        (home.jars / jar).touch()
    work = finite_work(home, CHANGE, Program.REPARTITION, python="/env/bin/python")
    artifact = home.artifacts / "0new"
    assert work.application == str(artifact / "jobs" / "repartition.py")
    assert work.arguments == (
        "--home", str(home.home), "--job", "ad_ctr", "--version", "3", "--change", str(CHANGE.change_id)
    )  # fmt: skip
    assert work.environment["PYTHONPATH"] == f"{artifact}:{artifact}/plugins"
    assert work.environment["PYSPARK_PYTHON"] == "/env/bin/python"
    assert work.configuration["spark.driver.host"] == "127.0.0.1"
    assert work.jars == f"{home.jars}/a.jar,{home.jars}/b.jar,{home.jars}/kappa-spark.jar"
    assert work.driver_memory == "856m"
    assert work.configuration["spark.authenticate"] == "true"


def test_the_program_runs_once_and_its_sentence_is_the_tasks_result(
    home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = runs(monkeypatch, home, ok=True, code=0)
    assert execute() == "4 rows, equal."
    assert execute() == "4 rows, equal."
    [first] = ran
    assert first.application.endswith("/0new/jobs/repartition.py")
    assert first.application_args == list(finite_work(home, CHANGE, Program.REPARTITION).arguments)


def test_a_program_that_says_no_is_a_refusal(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, ok=False, code=2)
    with pytest.raises(FiniteWorkRefused, match="ad_ctr v3: the repartition was refused"):
        execute()


def broke_down(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Let the program end of a part that did not answer."""

    def act() -> Outcome:
        raise OSError("the broker does not answer")

    def execute(self: FiniteSparkOperator, context: Any) -> None:
        try:
            carry_out(self.program, settings.home, str(CHANGE.change_id), act)
        except OSError as error:
            raise Crashed(1) from error

    monkeypatch.setattr(SparkSubmitOperator, "execute", execute)


def test_what_may_pass_is_tried_again_while_the_stream_runs(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    broke_down(monkeypatch, home)
    with pytest.raises(FiniteWorkFailed, match="OSError: the broker does not answer") as failed:
        execute()
    assert not isinstance(failed.value, Refusal)
    runs(monkeypatch, home, ok=True, code=0)
    assert execute() == "4 rows, equal."


def test_what_may_pass_is_not_tried_again_once_the_stream_stands_still(
    home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version is run again as it was in the time that another try would take to come so far."""
    broke_down(monkeypatch, home)
    with pytest.raises(FiniteWorkFailed):
        execute()
    began(monkeypatch, replace(CHANGE, phase=Phase.HELD))
    ran = runs(monkeypatch, home, ok=True, code=0)
    with pytest.raises(FailedWhileHeld, match="OSError: the broker does not answer"):
        execute()
    assert ran == []


def test_a_program_that_dies_without_a_word_is_tried_again(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, ok=None, code=1)
    with pytest.raises(Crashed):
        execute()


def test_a_no_of_an_earlier_try_is_not_taken_for_an_answer_now(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(home, ok=False)
    runs(monkeypatch, home, ok=None, code=137)
    with pytest.raises(Crashed):
        execute()


def test_a_good_end_without_an_outcome_is_none(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, ok=None, code=0)
    with pytest.raises(NoOutcome):
        execute()


def test_a_change_that_has_ended_gets_no_more_work(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    began(monkeypatch, replace(CHANGE, phase=Phase.UNDONE))
    ran = runs(monkeypatch, home, ok=True, code=0)
    with pytest.raises(ChangeHasEnded, match="undone"):
        execute()
    assert ran == []


def test_a_change_of_cores_alone_repartitions_nothing(home: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    began(monkeypatch, replace(CHANGE, new=replace(NEW, generation=1)))
    with pytest.raises(AirflowSkipException):
        execute()


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
