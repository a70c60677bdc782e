"""The monitor as a part of the stack: how it is started, and that it serves."""

from __future__ import annotations

import socket
import urllib.request

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
        return probe.connect_ex((settings.metrics.host, settings.ports.monitor)) == 0


def url(settings: Settings) -> str | None:
    """Where metrics are read; None of an installation elsewhere that does not name its monitor."""
    return settings.metrics.monitor_url(settings.ports.monitor, settings.is_embedded)


def ask(url: str, seconds: float) -> None:
    """Ask a monitor elsewhere whether it is there, without having it take a look. Raises OSError, HTTPException."""
    question = urllib.request.Request(f"{url}/metrics", method="OPTIONS")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(question, timeout=seconds):
        pass
