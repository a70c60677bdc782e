"""The stack once it has something that replays can be compared with."""

from __future__ import annotations

import random

import pytest

from tests.integration.beside import load
from tests.integration.replays.edge import Edge
from tests.integration.replays.serving import is_final
from tests.rigs.running_stack import Stack

FINAL_SECONDS = 600
"""T is at most 75 s ahead as the stack is deployed, and final when its minute and the allowed lateness are over."""


@pytest.fixture(scope="session")
def grown(deployed: Stack, edge: Edge) -> Stack:
    """All jobs deployed, with the windows up to T final; after the other tests there is nothing to wait for."""
    with load(deployed, random.randrange(10**6), rate=60):
        deployed.until("T is final", lambda: is_final(deployed, edge.at), FINAL_SECONDS)
    return deployed
