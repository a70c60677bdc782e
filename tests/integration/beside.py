"""What goes on beside a test: traffic and commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.beside import LONGEST_SECONDS, Beside
from bench.load import PATIENT, Background
from tests.rigs.running_stack import Command, Stack

GROUPED = {**PATIENT, "linger.ms": 500}
"""Traffic comes in groups: one request a record made the broker the part of a stack that computes most."""


@contextmanager
def load(stack: Stack, seed: int, rate: int = 100, seconds: float = LONGEST_SECONDS) -> Iterator[Background]:
    """Traffic that has something of everything, at a rate, until the body ends; what became of it is there after it."""
    with Background(stack.settings, seed, rate, seconds, options=GROUPED) as traffic:
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
