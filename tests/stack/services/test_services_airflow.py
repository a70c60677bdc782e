"""What Airflow is given beside its configuration: connections, pools and the Spark that its provider finds."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Connection

from kappa.airflow import run_note
from kappa.airflow.task_context import DEFAULTS
from kappa.core.installation.embedded import Cluster
from kappa.core.installation.needs import FINITE_CORES
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import airflow as control
from stack.services import airflow_pools, passwords

AWAY_SECONDS = 120
"""The api-server took 77 s from a kill to its first answer beside four streams and a load, and 150 s once."""
ASKED_SECONDS = 20
"""For a request to arrive whole, and for the end of who answers it."""


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A layout in a folder whose name has a space and a percent sign, with passwords made."""
    settings = Settings(home=tmp_path / "state 100%")
    passwords.make(settings)
    return Layout(settings, tmp_path / "the checkout", {"PATH": os.environ["PATH"]})


@contextmanager
def airflow(settings: Settings, refuses: bool = False) -> Iterator[tuple[Settings, list[dict[str, Any]]]]:
    """An api-server that knows the way in and keeps what it is asked; `settings` with its port."""
    asked: list[dict[str, Any]] = []

    class Answer(BaseHTTPRequestHandler):
        timeout = ASKED_SECONDS

        def do_POST(self) -> None:
            self._answer({"access_token": "the token"})

        def do_PATCH(self) -> None:
            self._answer({"create": {"success": [], "errors": [{"error": "no"}] if refuses else []}})

        def _answer(self, held: dict[str, Any]) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({"path": self.path, "token": self.headers["Authorization"], **body})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(held).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield replace(settings, ports=replace(settings.ports, airflow=server.server_port)), asked
    finally:
        server.shutdown()
        thread.join(ASKED_SECONDS)
        server.server_close()
    assert not thread.is_alive(), f"the server has not ended within {ASKED_SECONDS} s"


def test_connections_lie_in_a_private_file_that_airflow_is_told_of(layout: Layout) -> None:
    control.prepare(layout)
    config = configparser.ConfigParser()
    config.read(layout.airflow / "airflow.cfg")
    told = json.loads(config["secrets"]["backend_kwargs"])
    file = Path(told["connections_file_path"])
    assert config["secrets"]["backend"].endswith("LocalFilesystemBackend")
    assert file.stat().st_mode & 0o777 == 0o600
    held = json.loads(file.read_text())
    assert held["spark_local"]["host"] == f"local[{FINITE_CORES}]"
    notes = run_note.signed_in(
        Connection.from_json(json.dumps(held["kappa_airflow"]), "kappa_airflow"), layout.settings
    )
    user, password = passwords.airflow_login(layout.settings)
    assert (notes.url, notes.user, notes._password) == (layout.settings.airflow_url, user, password)


def test_spark_submit_is_found_and_is_the_environments_own(layout: Layout) -> None:
    surroundings = control.environment(layout)
    found = shutil.which("spark-submit", path=surroundings["PATH"])
    assert found == f"{surroundings['SPARK_HOME']}/bin/spark-submit"
    assert surroundings["PATH"].endswith(layout.surroundings["PATH"])
    said = subprocess.run([str(found), "--version"], env=surroundings, capture_output=True, text=True, timeout=300)
    assert "version 4.2.0" in said.stderr


def test_tries_outlast_the_start_of_an_api_server_and_a_task_without_one_is_gone_in_time(layout: Layout) -> None:
    control.prepare(layout)
    script = (
        "from airflow.configuration import conf; from airflow.sdk.api import client as c;"
        "from airflow.sdk.execution_time import supervisor as s; print(c.API_RETRIES - 1, c.API_RETRY_WAIT_MIN, "
        "c.API_RETRY_WAIT_MAX, s.MAX_FAILED_HEARTBEATS, s.MIN_HEARTBEAT_INTERVAL, "
        "conf.getint('scheduler', 'task_instance_heartbeat_timeout'))"
    )
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, env=control.environment(layout), capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stderr
    waits, least, longest, beats, interval, missed = map(float, said.stdout.split()[-6:])
    assert (DEFAULTS["retries"] + 1) * waits * least >= AWAY_SECONDS
    assert beats * (interval + waits * longest) < missed


def test_pools_are_made_again_as_they_should_be_by_one_request(layout: Layout) -> None:
    with airflow(layout.settings) as (settings, asked):
        airflow_pools.ensure(settings)
    login, made = asked
    name, password = passwords.airflow_login(layout.settings, airflow_pools.KEEPER)
    assert (login["username"], login["password"]) == (name, password)
    assert (made["path"], made["token"]) == ("/api/v2/pools", "Bearer the token")
    [action] = made["actions"]
    assert (action["action"], action["action_on_existence"]) == ("create", "overwrite")
    assert {pool["name"]: pool["slots"] for pool in action["entities"]} == {"replay": 1, "spark_cores": 8}


def test_a_pool_holds_one_program_at_least(layout: Layout) -> None:
    small = replace(layout.settings, cluster=Cluster(worker_cores=1))
    slots = {pool["name"]: pool["slots"] for pool in airflow_pools.wanted(small)}
    assert slots["spark_cores"] == FINITE_CORES


def test_pools_that_airflow_refuses_are_named(layout: Layout) -> None:
    with (
        airflow(layout.settings, refuses=True) as (settings, _),
        pytest.raises(airflow_pools.PoolsRefused, match="'no'"),
    ):
        airflow_pools.ensure(settings)
