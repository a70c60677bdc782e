"""A webhook on loopback, and a notifier that tells it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stack.alerts.memory import MemoryFile
from tests.stack.alerts.receiver import Receiver, receiver
from tests.stack.alerts.watch import Watch


@pytest.fixture
def hook() -> Iterator[Receiver]:
    """A webhook on loopback."""
    with receiver() as made:
        yield made


@pytest.fixture
def watch(tmp_path: Path, hook: Receiver) -> Watch:
    """One whose state folder is new."""
    MemoryFile(tmp_path).folder.mkdir()
    return Watch(tmp_path, hook)
