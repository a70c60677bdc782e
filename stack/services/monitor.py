"""The monitor as a part of the embedded stack: how it is started, and that it serves."""

from __future__ import annotations

import socket

from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.settings import Settings
from kappa.core.spark_environment import search_path
from stack.layout import Layout
from stack.programs import Program

NAME = "monitor"


def program(layout: Layout) -> Program:
    """The process; it is told everything by the settings. -P: the state folder has folders named like packages."""
    command = (layout.python, "-P", "-m", "stack.monitor.process")
    environment = {"PYTHONPATH": search_path(layout.checkout), "PYTHONUNBUFFERED": "1"}
    return Program(NAME, command, layout.home, environment, ("monitor",))


def healthy(settings: Settings) -> bool:
    """It listens, so it has begun to watch."""
    with socket.socket() as probe:
        probe.settimeout(1)
        address = settings.metrics.address
        return probe.connect_ex((LOOPBACK if address in ("", "0.0.0.0") else address, settings.ports.monitor)) == 0
