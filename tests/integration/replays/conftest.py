"""The stack once it has something that replays can be compared with."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from tests.integration.beside import load
from tests.integration.replays.edge import Edge
from tests.integration.replays.serving import is_final
from tests.rigs.running_stack import Stack

FINAL_SECONDS = 600
"""T is at most 75 s ahead as the stack is deployed, and the window from T on final when its minute and the allowed
lateness are over."""


@pytest.fixture(scope="session")
def grown(deployed: Stack, edge: Edge) -> Stack:
    """All jobs deployed, with a window from T on that is final; after the other tests there is nothing to wait for."""
    compared = edge.at + timedelta(minutes=1)
    with load(deployed, random.randrange(10**6), rate=60):
        deployed.until("the window from T on is final", lambda: is_final(deployed, compared), FINAL_SECONDS)
    return deployed
