"""A hand that writes versions which serve, on rig R0."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stack.layout import Layout
from tests.rigs.served_by_hand import ByHand, by_hand


@pytest.fixture
def hand(parts: Layout) -> Iterator[ByHand]:
    """Nobody serves anything but what the test writes."""
    with by_hand(parts.settings) as made:
        yield made
