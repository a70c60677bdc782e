"""A job whose work is done by executors of its own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.integration.injected import EXECUTOR, processes_of
from tests.integration.versions import batches, runs_as
from tests.rigs.running_stack import ON_EXECUTOR, Command, Stack

TUNED = ("executors=1", "cadence_ms=4000")


@dataclass(frozen=True)
class Tuned:
    """The stack on which that job was given other settings that only tune: what it ran as before and after, with its
    epoch, and what was said. `executors` is how many JVMs did its work before, and after."""

    stack: Stack
    before: dict[str, object]
    after: dict[str, object]
    epochs: tuple[int, int]
    said: Command
    executors: tuple[int, int]


@pytest.fixture(scope="session")
def tuned(deployed: Stack) -> Tuned:
    """The job, which did its work in its driver's process, deployed over itself, in place, on an executor."""
    none = at_work(deployed, 0)
    before, epoch = runs_as(deployed, ON_EXECUTOR), _epoch(deployed)
    options = [word for setting in TUNED for word in ("--set", setting)]
    said = deployed.kappa("deploy", ON_EXECUTOR, *options, "--reason", "test")
    after, epochs = runs_as(deployed, ON_EXECUTOR), (epoch, _epoch(deployed))
    return Tuned(deployed, before, after, epochs, said, (none, at_work(deployed, 1)))


def at_work(stack: Stack, executors: int) -> int:
    """How many executors work for the job, once it has so many and has committed a batch on them."""
    stack.until(f"{executors} executors", lambda: len(processes_of(stack, EXECUTOR, ON_EXECUTOR)) == executors)
    committed = batches(stack, ON_EXECUTOR)
    stack.produce(71, 500)
    stack.until("a batch more", lambda: batches(stack, ON_EXECUTOR) > committed)
    return len(processes_of(stack, EXECUTOR, ON_EXECUTOR))


def _epoch(stack: Stack) -> int:
    ((epoch,),) = stack.query("select epoch from ops.drivers where job = %s", ON_EXECUTOR)
    return int(epoch)
