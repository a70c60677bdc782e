"""A second monitor of an installation, or one whose port is held, is refused before it serves or tells anything."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kappa.core.installation.alerts import Alerts
from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings
from stack.alerts.memory import MemoryFile, NotifierRuns
from stack.monitor import process
from stack.port_check import PortTaken
from tests.stack.alerts.receiver import put_address


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """An installation whose monitor's port somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        ports = replace(Ports(), monitor=held.getsockname()[1])
        yield Settings(tmp_path / "state", ports=ports)


def run(settings: Settings) -> None:
    """The monitor; where nothing is in its way, it ends at once."""
    ended = threading.Event()
    ended.set()
    process.run(settings, settings.home, ended)


def test_one_that_runs_already_is_named_and_not_its_port(settings: Settings) -> None:
    put_address(settings.secrets, "duty", "json://127.0.0.1:9/hook")
    told = replace(settings, alerts=Alerts(targets=("duty",), allow_plain=True))
    with MemoryFile(told.home).held(), pytest.raises(NotifierRuns):
        run(told)


def test_a_port_that_is_held_is_named_with_its_holder(settings: Settings) -> None:
    with pytest.raises(PortTaken, match=rf"port {settings.ports.monitor} of monitor is held by process {os.getpid()} "):
        run(settings)
