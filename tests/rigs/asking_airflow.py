"""A real Airflow whose tasks ask people, under either auth manager: its four processes, on SQLite."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from kappa import airflow_api
from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import SignedIn, users_file
from stack.layout import Layout
from stack.provisioning.linters import uv_program
from stack.services import airflow as control
from stack.waiting import until

CHECKOUT = Path(__file__).resolve().parents[2]
ROLES = CHECKOUT / "plugins" / "kappa" / "airflow" / "roles.json"
PEOPLE = ("viewer", "operator", "approver")
FAB = "apache-airflow-providers-fab==3.10.2"
FAB_MANAGER = "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"
BACKEND = "AIRFLOW__SECRETS__BACKEND"
START_SECONDS = 300
COMMAND_SECONDS = 300
TASK_SECONDS = 120
WAITING = frozenset({"awaiting_input", "deferred"})
"""States of a task that has asked; on a busy machine an answer may come too early, and the task is run again."""
SCHEDULED = frozenset({"repair_stream", "retire_versions", "autoscale_stream", "validate_live"})
"""Our DAGs that run by themselves: they would put in order what these tests leave lying."""


@dataclass(frozen=True)
class AskingAirflow:
    """A running Airflow, in which each of PEOPLE has the role of that name; `folder` is its home, and `processes` are
    the ids of its processes by their names in the stack. `connected`: it has the connections of the embedded stack."""

    layout: Layout
    folder: Path
    processes: Mapping[str, int]
    connected: bool

    def person(self, name: str) -> Airflow:
        """A session of this person."""
        return Airflow(SignedIn(self.layout.settings.airflow_url, name, password=password(self.layout, name)))

    def asked(self, dag_id: str, who: str) -> Run:
        """A run that this person started and whose question is open."""
        run = self.person(who).trigger(dag_id, "asked", {})
        self.until(run, WAITING.__contains__)
        return run

    def until(self, run: Run, holds: Callable[[str], bool]) -> str:
        """The state of the task that asks, once it is as it should be."""
        seen = [""]

        def look() -> bool:
            tasks = self.person("operator").look(run).tasks
            seen.append(tasks.get("approve", ""))
            return holds(seen[-1])

        assert until(look, TASK_SECONDS), f"{run.run_id} is {seen[-1]} after {TASK_SECONDS} s\n{self.words()}"
        return seen[-1]

    def ended(self, run: Run) -> dict[str, str]:
        """The states of the run's tasks at its end."""
        seen = [self.person("operator").look(run)]

        def look() -> bool:
            seen.append(self.person("operator").look(run))
            return seen[-1].ended

        assert until(look, TASK_SECONDS), f"{run.run_id} has not ended: {seen[-1].tasks}\n{self.words()}"
        return dict(seen[-1].tasks)

    def note(self, run: Run) -> str | None:
        """The note on the run's page."""
        found: str | None = self.person("viewer").ask("to show a run", "GET", run.path)["note"]
        return found

    @contextmanager
    def standing_still(self, name: str) -> Iterator[None]:
        """One of its processes does nothing for as long as the body runs."""
        os.kill(self.processes[name], signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.processes[name], signal.SIGCONT)

    def words(self) -> str:
        """The last words of its processes and of the tasks that asked."""
        files = [*self.folder.glob("*.log"), *self.folder.rglob("task_id=approve/*.log")]
        return "\n".join(f"--- {file}\n{file.read_text()[-3000:]}" for file in files)

    def log(self, run: Run) -> str:
        """All that the task that asks has logged."""
        files = sorted(self.folder.rglob(f"run_id={run.run_id}/task_id=approve/*.log"))
        return "\n".join(file.read_text() for file in files)


@contextmanager
def simple(layout: Layout, folder: Path) -> Iterator[AskingAirflow]:
    """Under SimpleAuthManager, with the connection `kappa_airflow` that the embedded stack has."""
    users = folder / "passwords.json"
    users.write_text(json.dumps({name: password(layout, name) for name in PEOPLE}))
    roles = {"viewer": "viewer", "operator": "op", "approver": "user"}
    environment = {
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in roles.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(users),
    }
    with _running(layout, folder, sys.executable, environment) as started:
        yield started


@contextmanager
def fab(layout: Layout, folder: Path) -> Iterator[AskingAirflow]:
    """Under the FAB provider's, in an environment of its own, with our file of roles and no connection of ours."""
    python = fab_environment(folder / "environment")
    environment = {"AIRFLOW__CORE__AUTH_MANAGER": FAB_MANAGER, BACKEND: ""}

    def people(run: Callable[..., None]) -> None:
        run("roles", "import", str(ROLES))
        for name in PEOPLE:
            run(
                "users", "create", "--username", name, "--role", name, f"--password={password(layout, name)}",
                "--firstname", name.title(), "--lastname", "Of Ours", "--email", f"{name}@example.org",
            )  # fmt: skip

    with _running(layout, folder, python, environment, people) as started:
        yield started


def fab_environment(folder: Path) -> str:
    """The Python of a new environment: ours of Airflow, with the FAB provider, which holds python-dateutil below 3.

    Skips the test where it cannot be had.
    """
    uv = uv_program(CHECKOUT, os.environ)
    if uv is None:
        pytest.skip("the FAB provider needs an environment of its own, and there is no uv to make it")
    python, locked = folder / "bin" / "python", folder / "locked.txt"
    export = ("export", "--only-group", "airflow", "--no-hashes", "--frozen", "--no-header", "--no-annotate", "-q")
    _had([uv, "venv", "-q", "-p", sys.executable, str(folder)])
    kept = [line for line in _had([uv, *export]).splitlines() if not line.startswith("python-dateutil")]
    locked.write_text("\n".join(kept))
    _had([uv, "pip", "install", "-q", "-p", str(python), "-r", str(locked), FAB])
    return str(python)


def _had(command: list[object]) -> str:
    done = subprocess.run([*map(str, command)], cwd=CHECKOUT, capture_output=True, text=True, timeout=COMMAND_SECONDS)
    if done.returncode:
        pytest.skip(f"{FAB} cannot be had: {done.stderr.strip()[-500:]}")
    return done.stdout


@contextmanager
def _running(
    layout: Layout,
    folder: Path,
    python: str,
    environment: Mapping[str, str],
    people: Callable[[Callable[..., None]], None] = lambda run: None,
) -> Iterator[AskingAirflow]:
    control.prepare(layout)
    dags = folder / "dags"
    dags.mkdir()
    for file in (Path(__file__).with_name("asking_dags.py"), *(CHECKOUT / "dags").glob("*.py")):
        if file.stem not in SCHEDULED:
            shutil.copy(file, dags)
    surroundings = {**_surroundings(layout, folder, dags), **environment}
    shutil.copy(layout.airflow / "airflow.cfg", folder)

    def run(*arguments: str) -> None:
        command = [python, "-m", "airflow", *arguments]
        done = subprocess.run(command, env=surroundings, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr

    run("db", "migrate")
    people(run)
    with ExitStack() as started:
        processes = {}
        for name in control.COMMANDS:
            command = [python, "-m", "airflow", *control.COMMANDS[name]]
            processes[name] = started.enter_context(_process(command, surroundings, folder, name))
        asking = AskingAirflow(layout, folder, processes, BACKEND not in environment)
        there = until(lambda: airflow_api.health(layout.settings) is not None, START_SECONDS)
        assert there, f"the api-server did not answer\n{asking.words()}"
        yield asking


@contextmanager
def _process(command: list[str], environment: Mapping[str, str], folder: Path, name: str) -> Iterator[int]:
    """The id of a process with its children, for as long as the body runs; its children outlive a mere TERM."""
    with (folder / f"{name}.log").open("wb") as log:
        started = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    try:
        yield started.pid
    finally:
        os.killpg(started.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            started.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait(20)


def _surroundings(layout: Layout, folder: Path, dags: Path) -> dict[str, str]:
    database = folder / "airflow.db"
    return {
        **layout.surroundings,
        **control.environment(layout),
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{database}",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": f"sqlite+aiosqlite:///{database}",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(folder / "logs"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__SCHEDULER__TRIGGER_TIMEOUT_CHECK_INTERVAL": "3",
    }


def password(layout: Layout, name: str) -> str:
    """Of the embedded stack's users what it made; anybody's else is as good."""
    held: dict[str, str] = json.loads(users_file(layout.settings).read_text())
    return held.get(name, f"{name}-of-a-test")
