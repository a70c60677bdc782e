"""Faults of a stack's parts, each proven to have hit: a kill has a victim that dies, and an outage lasts."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import psutil

from bench.groups import Applications, group
from jobs.settings import Settings
from stack import broker, cluster, leftovers, postgres
from stack.layout import Layout
from stack.supervision import Supervisor
from tests.running_stack import CHECKOUT, Stack

HEALTHY: dict[str, Callable[[Settings], bool]] = {
    broker.NAME: broker.healthy,
    postgres.NAME: postgres.healthy,
    cluster.WORKER: cluster.healthy,
}
"""What tells that a supervised part works again."""
JVM, PYTHON, EXECUTOR = "driver JVM", "driver Python", "executor JVM"
"""The processes of a job, as `bench.groups` calls them."""


def process_of(stack: Stack, kind: str, job: str) -> psutil.Process:
    """The one process of that kind that works for a job, waited for."""
    found: list[psutil.Process] = []

    def is_there() -> bool:
        found[:] = _processes(stack, f"{kind} {job}")
        return len(found) == 1

    stack.until(f"{job} has one {kind}", is_there)
    return found[0]


def kill_of(stack: Stack, kind: str, job: str) -> psutil.Process:
    """kill -9 of that process, which is gone afterwards."""
    victim = process_of(stack, kind, job)
    _end(stack, victim, signal.SIGKILL)
    return victim


def kill_and_await(stack: Stack, part: str) -> None:
    """kill -9 of a supervised part, which is another process and healthy afterwards."""
    victim = _part(stack, part)
    _end(stack, victim, signal.SIGKILL)
    _await_back(stack, part, victim)


@contextmanager
def away(stack: Stack, part: str, by: signal.Signals) -> Iterator[None]:
    """A supervised part, with its children, ended by a signal and away while the body runs: who would start it again
    is stopped meanwhile. It is back and healthy afterwards."""
    victim, supervisor = _part(stack, part), Supervisor(Layout(stack.settings, CHECKOUT)).process()
    assert supervisor is not None, "the stack is down"
    supervisor.suspend()
    try:
        _end(stack, victim, by)
        yield
        assert not HEALTHY[part](stack.settings), f"{part} was not away"
    finally:
        supervisor.resume()
    _await_back(stack, part, victim)


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


def _processes(stack: Stack, wanted: str) -> list[psutil.Process]:
    names, found = Applications(stack.settings.spark_ui), []
    for process in leftovers.marked(stack.settings.home):
        try:
            if group(process.cmdline(), names) == wanted:
                found.append(process)
        except psutil.Error:
            continue
    return found
