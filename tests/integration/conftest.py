"""A job that is deployed over itself with another setting, and whether executors do its work."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.integration.injected import EXECUTOR, processes_of
from tests.integration.versions import batches, runs_as
from tests.rigs.running_stack import ON_EXECUTOR, Command, Stack

TUNED = "cadence_ms=4000"


@dataclass(frozen=True)
class Tuned:
    """The stack on which the job with an executor was given another setting that only tunes: what it ran as before and
    after, with its epoch, and what was said."""

    stack: Stack
    before: dict[str, object]
    after: dict[str, object]
    epochs: tuple[int, int]
    said: Command


@pytest.fixture(scope="session")
def tuned(deployed: Stack) -> Tuned:
    """The job deployed over itself, in place, once it is at work."""
    at_work(deployed, 1)
    before, epoch = runs_as(deployed, ON_EXECUTOR), _epoch(deployed)
    said = deployed.kappa("deploy", ON_EXECUTOR, "--set", TUNED, "--reason", "test")
    after, epochs = runs_as(deployed, ON_EXECUTOR), (epoch, _epoch(deployed))
    at_work(deployed, 1)
    return Tuned(deployed, before, after, epochs, said)


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
