"""Finite Spark work as a task: what is started, what its outcome means, and that it ends with its task."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from airflow.sdk.exceptions import AirflowSkipException

from kappa.airflow.spark_program import FiniteSparkOperator
from kappa.core.changes import Outcome, Phase
from kappa.core.refusals import Refusal
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
from tests.plugins.finite_tasks import (
    AWAY,
    CHANGE,
    EQUAL,
    NEW,
    OTHER_ROWS,
    Crashed,
    FiniteTasks,
    execute,
    finite_tasks,
    operator,
    runs,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FiniteTasks:
    return finite_tasks(tmp_path, monkeypatch)


def test_the_program_runs_once_and_its_sentence_is_the_tasks_result(
    home: FiniteTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = runs(monkeypatch, home, EQUAL, code=0)
    assert execute() == "4 rows, equal."
    assert execute() == "4 rows, equal."
    [first] = ran
    work = finite_work(home.settings, CHANGE, Program.REPARTITION, home.attempt().attempt_id)
    assert first.application.endswith("/0new/jobs/repartition.py")
    assert first.application_args == list(work.arguments)
    assert home.cluster.submissions == {}, "there is one machine"


def test_a_program_that_says_no_is_a_refusal(home: FiniteTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, OTHER_ROWS, code=2)
    with pytest.raises(FiniteWorkRefused, match="ad_ctr v3: the repartition was refused"):
        execute()


def test_what_may_pass_is_tried_again_while_the_stream_runs(home: FiniteTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, AWAY, code=1)
    with pytest.raises(FiniteWorkFailed, match="OSError: the broker does not answer") as failed:
        execute()
    assert not isinstance(failed.value, Refusal)
    runs(monkeypatch, home, EQUAL, code=0)
    assert execute() == "4 rows, equal."


def test_what_may_pass_is_not_tried_again_once_the_stream_stands_still(
    home: FiniteTasks, monkeypatch: pytest.MonkeyPatch
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


def test_a_program_that_dies_without_a_word_is_tried_again(home: FiniteTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, None, code=1)
    with pytest.raises(Crashed):
        execute()


def test_a_no_of_an_earlier_try_is_not_taken_for_an_answer_now(
    home: FiniteTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, home, OTHER_ROWS, code=2)
    with pytest.raises(FiniteWorkRefused):
        execute()
    runs(monkeypatch, home, None, code=137)
    with pytest.raises(Crashed):
        execute()


def test_a_good_end_without_an_outcome_is_none(home: FiniteTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, home, None, code=0)
    with pytest.raises(EndedWithoutWord):
        execute()


def test_a_change_that_has_ended_gets_no_more_work(home: FiniteTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    home.began(monkeypatch, replace(CHANGE, phase=Phase.UNDONE))
    ran = runs(monkeypatch, home, EQUAL, code=0)
    with pytest.raises(ChangeHasEnded, match="undone"):
        execute()
    assert ran == []


def test_a_program_whose_change_was_taken_back_meanwhile_is_no_reason_for_the_run_s_failure(
    home: FiniteTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another task has failed, and the operator is to be told why that one did."""
    given_up = Outcome("Nothing was done: the change ended as undone.", {}, ok=False)
    runs(monkeypatch, home, given_up, code=3)
    found = iter([CHANGE, replace(CHANGE, phase=Phase.UNDONE)])
    monkeypatch.setattr(change_steps, "of_run", lambda *_: next(found))
    with pytest.raises(AirflowSkipException, match="the rescale was taken back meanwhile"):
        execute()


def test_a_change_of_cores_alone_repartitions_nothing(home: FiniteTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    home.began(monkeypatch, replace(CHANGE, new=replace(NEW, generation=1)))
    with pytest.raises(AirflowSkipException):
        execute()


def test_a_task_that_is_ended_takes_the_program_and_its_children_along() -> None:
    task: FiniteSparkOperator = operator()
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
