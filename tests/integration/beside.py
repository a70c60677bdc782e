"""What goes on beside a test: traffic, commands, and the end of processes by kill -9."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil

from bench.load import Background
from stack import leftovers
from tests.running_stack import Command, Stack

LONGEST_SECONDS = 1800


@contextmanager
def load(stack: Stack, seed: int, rate: int = 100, seconds: float = LONGEST_SECONDS) -> Iterator[Background]:
    """Traffic that has something of everything, at a rate, until the body ends; what became of it is there after it."""
    with Background(stack.settings, seed, rate, seconds) as traffic:
        yield traffic


@contextmanager
def beside(act: Callable[[], object]) -> Iterator[None]:
    """The body with something else going on, whose failure is the test's."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(LONGEST_SECONDS)
    assert not thread.is_alive(), f"what goes on beside has not ended within {LONGEST_SECONDS} s"
    assert not failures, failures


@contextmanager
def in_background(stack: Stack, *arguments: str, expect: int | None = 0) -> Iterator[list[Command]]:
    """A command that runs while the body does; its result is there after it."""
    results: list[Command] = []
    with beside(lambda: results.append(stack.kappa(*arguments, expect=expect))):
        yield results


def processes(stack: Stack, *words: str) -> list[psutil.Process]:
    """The stack's processes whose command line holds every word."""
    found = []
    for process in leftovers.marked(stack.settings.home):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        # Postgres names its backends after their users, of which one is Airflow.
        if all(word in line for word in words) and "supervisord" not in line and not line.startswith("postgres"):
            found.append(process)
    return found


def kill(stack: Stack, *words: str) -> int:
    """kill -9 of those processes; how many there were."""
    victims = processes(stack, *words)
    for process in victims:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    return len(victims)
