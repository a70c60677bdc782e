"""The monitor on real parts: what it reads, that it serves while Postgres stands still, and that it is a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from kappa.core.installation.settings import Settings
from kappa.core.spark_environment import search_path
from stack.layout import Layout
from stack.monitor import process
from stack.monitor.look import look
from stack.services import monitor
from stack.waiting import until
from tests.rigs.small_stack import free_ports, standing_still


def scrape(settings: Settings) -> str:
    """What is served now."""
    with urllib.request.urlopen(f"http://127.0.0.1:{settings.ports.monitor}/metrics", timeout=30) as answer:
        return str(answer.read().decode())


def causes(settings: Settings) -> set[str]:
    """What is found to be wrong now."""
    with urllib.request.urlopen(f"http://127.0.0.1:{settings.ports.monitor}/findings", timeout=30) as answer:
        return {finding["cause"] for finding in json.load(answer)["findings"]}


@contextmanager
def watched(settings: Settings, parts: Layout) -> Iterator[None]:
    """The monitor runs on a thread while the body does."""
    ended = threading.Event()
    thread = threading.Thread(target=process.run, args=(settings, parts.checkout, ended))
    thread.start()
    try:
        assert until(lambda: monitor.healthy(settings), 20)
        yield
    finally:
        ended.set()
        thread.join(20)


@pytest.fixture
def settings(parts: Layout) -> Settings:
    """The parts of the rig, and a free port for the monitor."""
    (port,) = free_ports(1)
    return replace(parts.settings, ports=replace(parts.settings.ports, monitor=port))


@pytest.mark.rig
def test_it_reads_the_registry_by_a_role_that_cannot_write(parts: Layout) -> None:
    seen = look(parts.settings, parts.checkout)
    assert seen.registry is not None
    assert seen.registry.counts["leases"] >= 0
    with (
        psycopg.connect(parts.settings.dsn("kappa_operator"), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("update registry.job_version set state = 'FAILED'")


@pytest.mark.rig
def test_it_serves_while_postgres_stands_still_and_when_it_is_back(parts: Layout, settings: Settings) -> None:
    with watched(settings, parts):
        assert "\nkappa_registry_up 1.0" in scrape(settings)
        with standing_still(parts, "postgres"):
            assert until(lambda: "\nkappa_registry_up 0.0" in scrape(settings), 30, 1)
            assert "postgres" in causes(settings), "though nobody is to be told"
        assert until(lambda: "\nkappa_registry_up 1.0" in scrape(settings), 30, 1)


@pytest.mark.rig
def test_as_a_process_it_serves_until_it_is_ended(parts: Layout, settings: Settings) -> None:
    port = str(settings.ports.monitor)
    environment = {**os.environ, "KAPPA_HOME": str(settings.home), "KAPPA__PORTS__MONITOR": port}
    program = monitor.program(parts)
    command = [sys.executable, *program.command[1:]]
    surroundings = {**environment, "PYTHONPATH": search_path(parts.checkout)}
    with subprocess.Popen(command, env=surroundings, cwd=Path(settings.home), stderr=subprocess.PIPE, text=True) as run:
        try:
            assert until(lambda: monitor.healthy(settings) or run.poll() is not None, 30)
            assert "kappa_registry_up" in scrape(settings)
        finally:
            run.terminate()
        assert run.wait(15) == 0
