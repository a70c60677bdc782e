"""A monitor whose own clock is wrong says so, once, and once that it is right again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kappa.core.spark_environment import search_path
from kappa.status.causes import MEANINGS, Cause
from stack.layout import Layout
from stack.monitor import process
from stack.services import monitor
from stack.waiting import until
from tests.rigs.moved_broker import BrokerClock, NoFaketime, library, preload
from tests.rigs.small_stack import free_ports
from tests.stack.alerts.receiver import Receiver, put_address, receiver

SECONDS = 90.0
TITLE = MEANINGS[Cause.CLOCK].title


@pytest.fixture
def moved() -> Path:
    """The library that moves a process's clock."""
    try:
        return library(None)
    except NoFaketime as reason:
        pytest.skip(str(reason))


@pytest.mark.rig
@pytest.mark.long(minutes=2)
@pytest.mark.fault("F20", "a monitor whose clock is wrong tells so once, and once that it is right again")
def test_a_clock_that_is_wrong_is_told(parts: Layout, tmp_path: Path, moved: Path) -> None:
    clock = BrokerClock(tmp_path / "clock")
    clock.set_behind(0)
    with receiver() as duty, _monitor(parts, duty, preload(moved, clock)):
        clock.set_behind(60)
        assert until(lambda: f"red: {TITLE}" in duty.titles, SECONDS), duty.told
        clock.set_behind(0)
        assert until(lambda: f"over: {TITLE}" in duty.titles, SECONDS), duty.told
    (red,) = (message["message"] for message in duty.told if message["title"] == f"red: {TITLE}")
    print(red)
    assert "What: the database's clock is 60 s ahead of the monitor's" in red
    assert [title for title in duty.titles if TITLE in title] == [f"red: {TITLE}", f"over: {TITLE}"]


@contextmanager
def _monitor(parts: Layout, duty: Receiver, preloaded: Mapping[str, str]) -> Iterator[None]:
    """The monitor as a process of its own, which tells that receiver while the body runs."""
    (port,) = free_ports(1)
    settings = replace(parts.settings, ports=replace(parts.settings.ports, monitor=port))
    put_address(settings.secrets, "duty", duty.url)
    own = {
        "KAPPA_HOME": str(settings.home), "KAPPA__PORTS__MONITOR": str(port), "KAPPA__ALERTS__TARGETS": '["duty"]',
        "PYTHONPATH": search_path(parts.checkout),
    }  # fmt: skip
    command = [sys.executable, "-m", process.__name__]
    with subprocess.Popen(command, env={**os.environ, **own, **preloaded}, cwd=settings.home) as running:
        try:
            assert until(lambda: monitor.healthy(settings) or running.poll() is not None, 30)
            yield
        finally:
            running.terminate()
