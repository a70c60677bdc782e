"""A stack of its own for replays, whose windows are final soon, with records around an edge T."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.integration.beside import load
from tests.integration.replays.edge import Edge
from tests.integration.replays.serving import has_final
from tests.running_stack import JOBS, Stack, down_all, starting

SETTINGS = ("--set", "allowed_lateness_ms=20000", "--set", "cadence_ms=3000", "--set", "executor_cores=1")
"""With the allowed lateness of two hours nothing on a young stack is final, so nothing could be compared; candidates
run as what is live, so there is room for several."""


@pytest.fixture(scope="session")
def own() -> Iterator[Stack]:
    """A stack on which other versions come to serve; the one that the other tests share is down by then."""
    down_all()
    with starting() as begun:
        yield begun.stack()


@pytest.fixture(scope="session")
def edge(own: Stack) -> Iterator[Edge]:
    """The records around T, the first of them in the log before anything is deployed."""
    edge = Edge(own.settings)
    sender = edge.sending()
    yield edge
    sender.join(120)
    assert not sender.is_alive(), "the records around T were never all sent"


@pytest.fixture(scope="session")
def brisk(own: Stack, edge: Edge) -> Stack:
    """All jobs deployed with a short allowed lateness while traffic flows, and the first window final."""
    with load(own, random.randrange(10**6), rate=60):
        own.kappa("deploy", *JOBS, *SETTINGS, "--reason", "test")
        own.until("a window is final", lambda: has_final(own))
    return own
