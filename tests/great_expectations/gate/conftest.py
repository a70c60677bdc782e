"""Versions of the served tables in the Postgres of rig R0, for the gate to judge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stack.layout import Layout
from tests.great_expectations.gate.desk import Desk


@pytest.fixture
def desk(parts: Layout) -> Iterator[Desk]:
    with Desk(parts.settings).prepared() as prepared:
        yield prepared
