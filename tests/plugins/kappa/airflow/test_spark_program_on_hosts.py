"""Finite Spark work as a task on several hosts: it is a driver of the cluster where there is room, and ends with it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from kappa.airflow.spark_program import FiniteSparkOperator
from kappa.cluster import DriverState
from kappa.verbs.drivers.finite_program import FiniteWorkFailed, FiniteWorkRefused
from kappa.verbs.drivers.program_on_cluster import NotPlaced
from tests.plugins import finite_tasks
from tests.plugins.finite_tasks import (
    AWAY,
    EQUAL,
    OTHER_ROWS,
    FiniteTasks,
    execute,
    operator,
    runs,
)


@pytest.fixture
def several_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FiniteTasks:
    return finite_tasks.several_hosts(tmp_path, monkeypatch)


def never_placed(tasks: FiniteTasks) -> None:
    """The program waits for a host: somebody else has taken the room."""

    def waits() -> None:
        if tasks.cluster.states["driver-0"] is DriverState.RUNNING:
            tasks.cluster.states["driver-0"] = DriverState.SUBMITTED

    tasks.registry.clock.meanwhile.append(waits)


def test_on_several_hosts_the_program_runs_on_the_cluster(
    several_hosts: FiniteTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = runs(monkeypatch, several_hosts, EQUAL, code=0)
    several_hosts.registry.clock.meanwhile.append(lambda: several_hosts.leave(EQUAL))
    assert execute() == "4 rows, equal."
    assert execute() == "4 rows, equal."
    assert (ran, several_hosts.cluster.running()) == ([], ["driver-0"])


def test_what_the_program_says_on_the_cluster_counts_as_if_the_task_had_run_it(several_hosts: FiniteTasks) -> None:
    meanwhile = several_hosts.registry.clock.meanwhile
    for said, raised in ((AWAY, FiniteWorkFailed), (OTHER_ROWS, FiniteWorkRefused)):
        meanwhile[:] = [partial(several_hosts.leave, said)]
        with pytest.raises(raised, match=said.sentence):
            execute()


def test_without_room_on_the_cluster_the_task_runs_the_program(
    several_hosts: FiniteTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    several_hosts.cluster.free = 3
    ran = runs(monkeypatch, several_hosts, EQUAL, code=0)
    assert execute() == "4 rows, equal."
    assert (len(ran), several_hosts.cluster.submissions) == (1, {})


def test_a_task_that_is_tried_again_follows_what_runs_and_looks_for_no_room(
    several_hosts: FiniteTasks, monkeypatch: pytest.MonkeyPatch
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
    several_hosts: FiniteTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else may have taken the room."""
    ran = runs(monkeypatch, several_hosts, EQUAL, code=0)
    never_placed(several_hosts)
    assert execute() == "4 rows, equal."
    assert (len(ran), several_hosts.cluster.states) == (1, {"driver-0": DriverState.KILLED})
    assert several_hosts.registry.clock.monotonic() == pytest.approx(61, abs=2)


def test_where_the_task_does_not_see_the_program_it_is_left_to_the_cluster(
    several_hosts: FiniteTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = runs(monkeypatch, several_hosts, EQUAL, code=0)
    several_hosts.hide_files()
    several_hosts.cluster.free = 0
    never_placed(several_hosts)
    with pytest.raises(NotPlaced, match="no host of the cluster had room for the repartition within 60 s"):
        execute()
    assert (ran, several_hosts.cluster.states) == ([], {"driver-0": DriverState.KILLED})
    several_hosts.registry.clock.meanwhile[:] = [lambda: several_hosts.leave(EQUAL)]
    assert execute() == "4 rows, equal."
    assert ran == []


def test_a_task_that_is_ended_ends_the_program_on_the_cluster(several_hosts: FiniteTasks) -> None:
    task = operator()

    def end() -> None:
        task.on_kill()
        raise KeyboardInterrupt

    several_hosts.registry.clock.meanwhile.append(end)
    with pytest.raises(KeyboardInterrupt):
        FiniteSparkOperator.execute.__wrapped__(task, {})  # type: ignore[attr-defined]
    assert several_hosts.cluster.states == {"driver-0": DriverState.KILLED}
