"""Faults of a stack's parts. What is one process is proven to have been hit: a kill has a victim that dies, and an
outage lasts; who kills all that match some words is told how many there were."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import psutil

from bench.groups import Applications, group
from kappa.core.installation.settings import Settings
from stack import leftovers
from stack.layout import Layout
from stack.programs import Program
from stack.services import kafka, monitor, postgres, spark
from stack.supervision import Supervisor
from tests.rigs.moved_broker import ahead, library
from tests.rigs.running_stack import CHECKOUT, Stack
from tests.rigs.small_stack import suspended

HEALTHY: dict[str, Callable[[Settings], bool]] = {
    kafka.NAME: kafka.healthy,
    monitor.NAME: monitor.healthy,
    postgres.NAME: postgres.healthy,
    spark.WORKER: spark.healthy,
}
"""What tells that a supervised part works again."""
_PROGRAMS: dict[str, Callable[[Layout], Program]] = {postgres.NAME: postgres.program}
JVM, PYTHON, EXECUTOR = "driver JVM", "driver Python", "executor JVM"
"""The processes of a job, as `bench.groups` calls them."""


def process_of(stack: Stack, kind: str, job: str) -> psutil.Process:
    """The one process of that kind that works for a job, waited for."""
    found: list[psutil.Process] = []

    def is_there() -> bool:
        found[:] = processes_of(stack, kind, job)
        return len(found) == 1

    stack.until(f"{job} has one {kind}", is_there)
    return found[0]


def processes_of(stack: Stack, kind: str, job: str) -> list[psutil.Process]:
    """The processes of that kind that work for a job."""
    names = Applications(stack.settings)
    return _processes(stack, lambda command: group(command, names) == f"{kind} {job}")


def kill_of(stack: Stack, kind: str, job: str) -> psutil.Process:
    """kill -9 of that process, which is gone afterwards."""
    victim = process_of(stack, kind, job)
    _end(stack, victim, signal.SIGKILL)
    return victim


def processes(stack: Stack, *words: str) -> list[psutil.Process]:
    """The stack's processes whose command line holds every word."""
    return _processes(stack, partial(_has, words))


def kill(stack: Stack, *words: str) -> int:
    """kill -9 of those processes, whose end is not awaited; how many there were."""
    victims = processes(stack, *words)
    for process in victims:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    return len(victims)


def kill_and_await(stack: Stack, part: str) -> None:
    """kill -9 of a supervised part, which is another process and healthy afterwards."""
    victim = _part(stack, part)
    _end(stack, victim, signal.SIGKILL)
    _await_back(stack, part, victim)


@contextmanager
def changed(stack: Stack, statement: str, back: str) -> Iterator[None]:
    """The database by a statement of its superuser, while the body runs; `back` undoes it."""
    stack.query(statement, role="postgres")
    try:
        yield
    finally:
        stack.query(back, role="postgres")


@contextmanager
def away(stack: Stack, part: str, by: signal.Signals) -> Iterator[None]:
    """A supervised part, with its children, ended by a signal and away while the body runs: who would start it again
    is stopped meanwhile. It is back and healthy afterwards."""
    victim = _part(stack, part)
    with suspended(Layout(stack.settings, CHECKOUT)):
        _end(stack, victim, by)
        yield
        assert not HEALTHY[part](stack.settings), f"{part} was not away"
    _await_back(stack, part, victim)


@contextmanager
def clock_moved(stack: Stack, part: str, seconds: int) -> Iterator[None]:
    """The wall clock of a supervised part, and of no other, goes so many seconds ahead while the body runs: it is
    started by hand, with libfaketime, and by its supervisor again afterwards. Raises NoFaketime."""
    layout = Layout(stack.settings, CHECKOUT)
    supervisor, program, faked = Supervisor(layout), _PROGRAMS[part](layout), ahead(library(None), seconds)
    supervisor.stop([part])
    given = {**layout.surroundings, **program.environment, **faked}
    with (layout.logs / f"{part}.log").open("ab") as log:
        started = psutil.Popen(
            program.command, cwd=program.directory, env=given, user=program.user, extra_groups=[],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        stack.until(f"{part} is healthy with another clock", lambda: HEALTHY[part](stack.settings))
        yield
    finally:
        started.send_signal(signal.SIGINT)
        started.wait(60)
        supervisor.begin([part])
        stack.until(f"{part} is healthy again", lambda: HEALTHY[part](stack.settings))


def _part(stack: Stack, part: str) -> psutil.Process:
    (running,) = (p for p in Supervisor(Layout(stack.settings, CHECKOUT)).processes() if p.name == part)
    assert running.pid, f"{part} is {running.state}: there is nobody to kill"
    return psutil.Process(running.pid)


def _end(stack: Stack, victim: psutil.Process, by: signal.Signals) -> None:
    ended = leftovers.family([victim]) if by is not signal.SIGKILL else {victim}
    victim.send_signal(by)
    stack.until(f"{victim} is gone", lambda: not leftovers.alive(ended), 60)


def _await_back(stack: Stack, part: str, before: psutil.Process) -> None:
    stack.until(f"{part} is healthy again", partial(_is_back, stack, part, before))


def _is_back(stack: Stack, part: str, before: psutil.Process) -> bool:
    pids = [p.pid for p in Supervisor(Layout(stack.settings, CHECKOUT)).processes() if p.name == part]
    return pids not in ([before.pid], [0]) and HEALTHY[part](stack.settings)


def _processes(stack: Stack, is_meant: Callable[[list[str]], bool]) -> list[psutil.Process]:
    """The stack's processes whose command line is meant."""
    found = []
    for process in leftovers.marked(stack.settings.home):
        with suppress(psutil.Error):
            if is_meant(process.cmdline()):
                found.append(process)
    return found


def _has(words: tuple[str, ...], command: list[str]) -> bool:
    """Postgres names its backends after their users, of which one is Airflow."""
    line = " ".join(command)
    return all(word in line for word in words) and "supervisord" not in line and not line.startswith("postgres")
