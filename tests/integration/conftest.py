"""A job whose work is done by an executor of its own."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.integration.versions import runs_as
from tests.rigs.running_stack import Command, Stack

ON_EXECUTOR = "client_spend"
"""The others do their work in their driver's process, as by default."""
TUNED = ("executors=1", "cadence_ms=900")


@dataclass(frozen=True)
class Tuned:
    """The stack on which that job was given other settings that only tune: what it ran as before and after, with its
    epoch, and what was said."""

    stack: Stack
    before: dict[str, object]
    after: dict[str, object]
    epochs: tuple[int, int]
    said: Command


@pytest.fixture(scope="session")
def tuned(deployed: Stack) -> Tuned:
    """The job deployed over itself, in place."""
    before, epoch = runs_as(deployed, ON_EXECUTOR), _epoch(deployed)
    options = [word for setting in TUNED for word in ("--set", setting)]
    said = deployed.kappa("deploy", ON_EXECUTOR, *options, "--reason", "test")
    return Tuned(deployed, before, runs_as(deployed, ON_EXECUTOR), (epoch, _epoch(deployed)), said)


def _epoch(stack: Stack) -> int:
    ((epoch,),) = stack.query("select epoch from ops.drivers where job = %s", ON_EXECUTOR)
    return int(epoch)
