"""The whole of docker-compose.yml, started for real from a copy of the checkout, and what a person does with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cli.approval_prompt import ANSWERS, answer, open_question
from cli.entry import CHECKOUT
from kappa.airflow_api import Airflow, Run
from kappa.airflow_sign_in import SignedIn
from kappa.core.installation.settings import Settings, load
from kappa.core.spark_environment import search_path
from kappa.core.verb_steps import Verb
from kappa.core.versions import State
from stack.containers import names
from stack.services import passwords
from stack.services.passwords import write_private
from stack.waiting import until
from tests.rigs.containers import base_images
from tests.rigs.containers.engine import Engine
from tests.rigs.held_secrets import secrets_of
from tests.rigs.small_stack import free_ports

UID = 1000
IMAGES = ("secrets", "kafka-1", "postgres", "spark-master")
"""One service for each image."""
START_SECONDS = 1500.0
CATCH_UP_SECONDS = 600.0
FINAL_SOON, SPAN = ("--set", "allowed_lateness_ms=90000"), "1m"
"""So that a replay has something to compare: traffic at full speed is of event times that are not older."""


@dataclass(frozen=True)
class Composed:
    """A copy of the checkout whose docker-compose.yml runs."""

    checkout: Path
    engine: Engine

    @property
    def settings(self) -> Settings:
        """Those of the target, as this machine sees it."""
        return load(self.checkout / "targets" / "compose" / "state", {})

    def compose(self, *words: str, seconds: float = START_SECONDS) -> str:
        """What docker compose answers."""
        return self.engine.run("docker", "compose", *words, cwd=self.checkout, seconds=seconds)

    def kappa(
        self, *words: str, seconds: float = 900, given: str = "", more: Mapping[str, str] = MappingProxyType({})
    ) -> subprocess.CompletedProcess[str]:
        """The command, for the target compose, with more variables in its environment."""
        command = [sys.executable, "-P", "-m", "cli.main", "--target", "compose", *words]
        environment = {**os.environ, "PYTHONPATH": search_path(self.checkout), **more}
        return subprocess.run(
            command, cwd=self.checkout, env=environment, input=given, capture_output=True, text=True, timeout=seconds
        )

    def sign_in(self) -> None:
        """Have the command act as the person of this Airflow."""
        user, password = passwords.airflow_login(self.settings)
        done = self.kappa("login", "--user", user, given=f"{password}\n")
        assert done.returncode == 0, done.stderr

    def deploy(self, *jobs: str) -> None:
        """Have Airflow deploy these jobs, whose windows are final within minutes."""
        with timed("deploy"):
            done = self.kappa("deploy", *jobs, *FINAL_SOON, "--reason", "test", seconds=1500)
        assert done.returncode == 0, done.stderr

    def produce(self, records: int, jobs: int) -> None:
        """Send so many records, and wait until all jobs, which are so many, have read them."""
        command = ("produce", "--source", "synthetic", "--full-speed", "--records", str(records), "--seed", "7")
        sent = self.kappa(*command, "--span", SPAN)
        assert sent.returncode == 0, sent.stderr
        with timed(f"{records} records read"):
            assert until(lambda: self.unread(jobs) == 0, CATCH_UP_SECONDS, 5.0), self.kappa("status").stdout

    def kill(self, service: str) -> None:
        """Kill the first process of a service, of its first container."""
        os.kill(int(self.inspect(self.containers(service)[0], "{{.State.Pid}}")), signal.SIGKILL)

    def await_well(self) -> None:
        """Wait until `doctor` finds every part well."""
        assert until(lambda: self.kappa("doctor").returncode == 0, CATCH_UP_SECONDS, 5.0), self.kappa("doctor").stdout

    def unread(self, jobs: int) -> int | None:
        """Records that live versions, one of each job, have not read; None while that is not known of each."""
        lags = [version["lag_events"] for job in self.status()["jobs"] for version in _live(job)]
        return sum(lags) if len(lags) == jobs and None not in lags else None

    def status(self) -> dict[str, Any]:
        """`status --json`."""
        told: dict[str, Any] = json.loads(self.kappa("status", "--json").stdout)
        return told

    def serving(self) -> dict[str, list[int]]:
        """The versions of each job that are live."""
        return {job["job"]: [version["version"] for version in _live(job)] for job in self.status()["jobs"]}

    def approve(self) -> bool:
        """Approve the replay that asks, as somebody else than who asked for it; whether one did."""
        asking = [replay["run_id"] for replay in self.status()["replays"] if replay["phase"] == "waiting for an answer"]
        password = passwords.people(self.settings)[passwords.APPROVER]
        airflow = Airflow(SignedIn(self.settings.airflow_url, passwords.APPROVER, password))
        for run in (Run(Verb.REPROCESS.dag_id, run_id, "") for run_id in asking):
            if question := open_question(airflow, run):
                answer(airflow, run, question, ANSWERS["a"])
                return True
        return False

    def held_secrets(self, address: str) -> dict[str, str]:
        """Passwords and keys by name, as they would be seen, and that of the address at which somebody is told."""
        held = secrets_of(self.settings, [passwords.AIRFLOW_ROLE]) | passwords.people(self.settings)
        return held | passwords.airflow_keys(self.settings) | {"address": address.rpartition("/")[2]}

    def containers(self, service: str) -> list[str]:
        """The ids of a service's running containers."""
        return self.compose("ps", "-q", service).split()

    def inspect(self, container: str, what: str) -> str:
        """One thing that the engine knows of a container, by Go's template."""
        return self.engine.run("podman", "inspect", "--format", what, container).strip()

    def inside(self, container: str, script: str) -> str:
        """What a script of bash prints in a container."""
        return self.engine.run("podman", "exec", container, "bash", "-c", script)


def _live(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [version for version in job["versions"] if version["state"] == State.LIVE]


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints how long the body took."""
    begun = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - begun:.0f} s", flush=True)


@contextmanager
def composed(
    engine: Engine,
    folder: Path,
    more: Mapping[str, object],
    secrets: Mapping[str, str] = MappingProxyType({}),
    images: Sequence[str] = IMAGES,
) -> Iterator[Composed]:
    """The whole file up and well, with more variables in `.env` and files in the folder of secrets, and somebody signed
    in to its Airflow; taken down afterwards with its volumes."""
    with timed("base images"):
        base_images.ensure(engine)
    checkout = folder / "checkout"
    _copy(checkout)
    for name, text in secrets.items():
        write_private(checkout / "targets" / "compose" / "secrets" / name, text)
    for place in (checkout / "targets" / "compose").rglob("*"):
        os.chown(place, UID, UID)
    os.chown(checkout / "targets" / "compose", UID, UID)
    chosen = {"KAPPA_BASE": base_images.DEBIAN, "KAPPA_POSTGRES_BASE": base_images.POSTGRES, **_ports(), **more}
    (checkout / ".env").write_text("".join(f"{name}={value}\n" for name, value in chosen.items()))
    made = Composed(checkout, engine)
    try:
        with timed("the images"):
            made.compose("build", *images, seconds=3600)
        with timed("docker compose up"):
            made.compose("up", "-d", "--no-build", "--pull", "never")
        made.sign_in()
        yield made
    finally:
        _down(made)


def _copy(checkout: Path) -> None:
    """The files that are in version control or will be, as they are: no secrets of a target that somebody runs."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in filter(lambda name: (CHECKOUT / name).is_file(), listed):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, checkout / name)


def _ports() -> dict[str, int]:
    variables: Sequence[str] = [
        *(name for field, name in names.VARIABLES.items() if field.endswith("_port")),
        *map(names.broker_variable, (1, 2, 3)),
    ]
    return dict(zip(variables, free_ports(len(variables)), strict=True))


def _down(made: Composed) -> None:
    made.compose("--profile", "*", "down", "--volumes", "--timeout", "20", seconds=300)
