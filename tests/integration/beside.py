"""What goes on beside a test: traffic, commands, and the end of processes by kill -9."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil

from bench.beside import LONGEST_SECONDS, Beside
from bench.load import Background
from stack import leftovers
from tests.running_stack import Command, Stack


@contextmanager
def load(stack: Stack, seed: int, rate: int = 500, seconds: float = LONGEST_SECONDS) -> Iterator[Background]:
    """Traffic that has something of everything, at a rate, until the body ends; what became of it is there after it."""
    with Background(stack.settings, seed, rate, seconds) as traffic:
        yield traffic


class _Act(Beside):
    """Something that ends by itself."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__("act")
        self._act = act

    def work(self) -> None:
        """Do it."""
        self._act()


@contextmanager
def beside(act: Callable[[], object]) -> Iterator[None]:
    """The body with something else going on, whose failure is the test's; its end is awaited after it."""
    with _Act(act):
        yield


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
