"""Versions of the served tables in the session's Postgres, for the gate to judge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.settings import Settings
from tests.gate.desk import Desk


@pytest.fixture
def desk(stack: Settings) -> Iterator[Desk]:
    with Desk(stack).prepared() as prepared:
        yield prepared
