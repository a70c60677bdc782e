"""A real api-server of Airflow, configured as the stack configures it, on a SQLite database of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kappa import airflow_api
from kappa.airflow_sign_in import users_file
from kappa.core.installation.embedded import Ports
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import airflow as control
from stack.services import passwords
from stack.waiting import until
from tests.rigs.small_stack import free_ports

START_SECONDS = 240
DATABASE = "airflow.db"
VIEWER = "viewer"
"""A user of the embedded stack's Airflow that only these tests have: one who may look, and nothing else."""
TELLS = """
import json, os, signal, sys

def tell(*_):
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    told = os.environ["MODULES_FILE"]
    with open(told + ".new", "w") as out:
        json.dump(files, out)
    os.rename(told + ".new", told)

signal.signal(signal.SIGUSR2, tell)
"""
"""As `sitecustomize`: a process that is told SIGUSR2 writes down which modules it has, and from which files."""


@dataclass(frozen=True)
class ApiServer:
    """A running api-server."""

    settings: Settings
    process: subprocess.Popen[bytes]
    told: Path
    environment: Mapping[str, str]

    @property
    def database(self) -> Path:
        """The file of SQLite that it keeps everything in."""
        return self.told.with_name(DATABASE)

    @property
    def secret(self) -> str:
        """What its tokens are signed with."""
        return str(passwords.airflow_keys(self.settings)["jwt_secret"])

    def airflow(self, *words: str, **variables: str) -> None:
        """Run a command of Airflow's beside it, with these variables, too."""
        _ran([sys.executable, "-m", "airflow", *words], {**self.environment, **variables}, self.told.parent)

    def modules(self) -> dict[str, str]:
        """The modules in its memory that come from a file, by name."""
        self.told.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR2)
        assert until(self.told.exists, 60), "the api-server does not tell its modules"
        found = json.loads(self.told.read_text())
        return {name: file for name, file in found.items() if file}


@contextmanager
def api_server(folder: Path, checkout: Path) -> Iterator[ApiServer]:
    """One for as long as the body runs; fails the test where it does not answer."""
    settings = Settings(home=folder / "state", ports=replace(Ports(), airflow=free_ports(1)[0]))
    passwords.make(settings)
    _add_viewer(settings)
    layout = Layout(settings, checkout, {"PATH": os.environ["PATH"]})
    control.prepare(layout)
    environment = _environment(layout, folder)
    _ran([layout.python, "-m", "airflow", "db", "migrate"], environment, folder)
    [program] = [one for one in control.programs(layout) if one.name == control.API]
    log = folder / "api-server.log"
    with log.open("wb") as lines:
        started = subprocess.Popen(program.command, env=environment, cwd=folder, stdout=lines, stderr=lines)
    try:
        if not until(lambda: airflow_api.health(settings) is not None, START_SECONDS):
            pytest.fail(f"the api-server did not answer:\n{log.read_text()[-6000:]}")
        yield ApiServer(settings, started, folder / "modules.json", environment)
    finally:
        started.terminate()
        started.wait(60)


def _environment(layout: Layout, folder: Path) -> dict[str, str]:
    tells = folder / "tells"
    tells.mkdir()
    (tells / "sitecustomize.py").write_text(TELLS)
    given = {**layout.surroundings, **control.environment(layout)}
    database = folder / DATABASE
    return {
        **given,
        "PYTHONPATH": f"{tells}:{given['PYTHONPATH']}",
        "MODULES_FILE": str(folder / "modules.json"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(
            f"{name}:{role}" for name, role in {**passwords.AIRFLOW_USERS, VIEWER: "viewer"}.items()
        ),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{database}",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": f"sqlite+aiosqlite:///{database}",
    }


def _add_viewer(settings: Settings) -> None:
    held = json.loads(users_file(settings).read_text())
    passwords.write_private(users_file(settings), json.dumps({**held, VIEWER: "viewer-of-a-test"}))


def _ran(command: list[str], environment: Mapping[str, str], folder: Path) -> None:
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=START_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
