"""An installation that Terraform has rendered, on the hosts of a lab: each unit file is started on its host."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.entry import CHECKOUT
from kappa.core.installation.settings import load
from kappa.core.spark_environment import search_path
from stack.layout import Layout
from stack.provisioning import providers
from stack.provisioning.terraform import Target
from stack.services import spark
from stack.waiting import until
from tests.rigs.lab import airflow
from tests.rigs.lab.hosts import Lab
from tests.rigs.lab.parts import BROKERS, CLIENT, MASTERS, POSTGRES, WORKERS
from tests.rigs.lab.services import Installed, fetch_programs

RUNS_AS = {"kappa": "root", "postgres": "nobody"}
FIRST, SECOND = WORKERS
COMMAND = "kappa"
MASTER_UNIT = "kappa-spark-master"
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Unit:
    """What of a unit file is obeyed here: environment, what runs first (as root where it says so), and the program."""

    name: str
    environment: Mapping[str, str]
    prepare: tuple[str, ...]
    command: tuple[str, ...]
    user: str

    @classmethod
    def read(cls, file: Path) -> Unit:
        """The unit of a file."""
        lines = [line.partition("=")[::2] for line in file.read_text().splitlines() if "=" in line and line[0] != "#"]
        said = {name: [value for each, value in lines if each == name] for name, _ in lines}
        environment = dict(value.strip('"').split("=", 1) for value in said.get("Environment", []))
        prepare, (command,), (user,) = said.get("ExecStartPre", []), said["ExecStart"], said["User"]
        return cls(file.stem, environment, tuple(prepare), tuple(shlex.split(command)), user)

    def start(self, lab: Lab, host: str) -> None:
        """As systemd would: first what prepares, then the program."""
        for line in self.prepare:
            lab.run(host, shlex.split(line.removeprefix("+")), 60, self.environment)
        who = [] if self.user == "root" else ["setpriv", f"--reuid={self.user}", "--regid=nogroup", "--clear-groups"]
        lab.spawn(host, f"{host}-{self.name}", [*who, *self.command], self.environment)


@dataclass
class Provisioned:
    """The target `cluster` and the hosts that it renders files for; `workers` are those of the variable."""

    lab: Lab
    target: Target
    workers: tuple[str, ...] = (FIRST,)
    _started: set[str] = field(default_factory=set)

    @property
    def secrets(self) -> Path:
        """Where each host sees what it is given of the secrets; on no host, nothing."""
        return self.lab.folder / "secrets"

    @property
    def output(self) -> Path:
        """What Terraform has written."""
        return self.lab.folder / "made"

    def variables(self) -> dict[str, Any]:
        """What the target is told; no secret is in it."""
        folder = self.lab.folder
        brokers = {
            host: {"roles": ["broker", "zookeeper"], "broker_id": number, "zookeeper_id": number}
            for number, host in enumerate(BROKERS, 1)
        }
        workers = {host: {"roles": ["spark_worker"], "cores": 4, "memory_mb": 4096} for host in self.workers}
        masters = {host: {"roles": ["spark_master"]} for host in MASTERS}
        others = {POSTGRES: ["postgres"], CLIENT: ["client", "monitor", "airflow"]}
        return {
            "hosts": {**brokers, **masters, **workers, **{host: {"roles": roles} for host, roles in others.items()}},
            "trusted_network": True,
            "airflow_url": f"https://{CLIENT}:{airflow.PORT}",
            "airflow_ca": str(self.secrets / "ca.pem"),
            "topic": {"partitions": 4},
            "heap_mb": {"broker": 256, "zookeeper": 256, "master": 256, "worker": 256},
            "output": str(self.output),
            "maker": {"checkout": str(CHECKOUT), "python": sys.executable},
            "users": {"kappa": RUNS_AS["kappa"], "postgres": RUNS_AS["postgres"]},
            "places": {
                "config": str(folder / "etc"),
                "secrets": str(self.secrets),
                "shared": str(folder / "shared"),
                "data": str(folder / "data"),
            },
            "programs": {
                "java": spark.java(Layout(load(folder / "state", {}), CHECKOUT)),
                "spark": str(spark.spark_home()),
                "kafka": str(folder / "state" / "jars" / "broker"),
                "postgres": str(folder / "pg"),
                "python": str(Path(sys.executable).parent),
                "command": str(folder / COMMAND),
            },
        }

    def apply(self) -> None:
        """Render what the hosts need. Raises TerraformFailed."""
        self.target.set(self.variables())
        self.target.apply()

    def start(self) -> None:
        """Give each host that has none yet its files and its own disk, and start its units."""
        units: dict[str, list[str]] = self.target.outputs()["units"]
        for host, files in units.items():
            if host not in self._started:
                self._started.add(host)
                disk = self.lab.folder / "disks" / host
                disk.mkdir(parents=True)
                self.lab.mount(host, self.output / "hosts" / host, self.lab.folder / "etc")
                self.lab.mount(host, self.output / "given" / host, self.secrets)
                self.lab.mount(host, disk, self.lab.folder / "data")
                for file in files:
                    Unit.read(self.output / "hosts" / host / file).start(self.lab, host)

    def kill(self, host: str, unit: str) -> None:
        """kill -9 of a unit's program, started again as systemd would."""
        made = Unit.read(self.output / "hosts" / host / f"{unit}.service")
        (running,) = (process for process in self.lab.processes(host) if process.cmdline() == list(made.command))
        running.kill()
        assert until(lambda: not running.is_running(), PATIENCE_SECONDS), f"{running} is not gone"
        made.start(self.lab, host)

    def installed(self) -> Installed:
        """The installation, as its client finds it by a copy of the settings."""
        file = self.lab.folder / "kappa.toml"
        shutil.copy(self.output / "hosts" / CLIENT / "kappa.toml", file)
        return Installed(self.lab, load(self.lab.folder / "state", {"KAPPA_SETTINGS": str(file)}), file, {})


def provision(lab: Lab) -> Provisioned:
    """Programs and folders, as an image would have them, and the target, which nothing was applied of yet."""
    folder = lab.folder
    for name in ("etc", "data", "shared", "state", "secrets"):
        (folder / name).mkdir()
    _write_command(folder / COMMAND)
    mirrors = providers.build(CHECKOUT, os.environ, print)
    made = Provisioned(lab, Target("cluster", CHECKOUT, folder / "terraform", mirrors, dict(os.environ)))
    made.target.prepare(made.variables())
    shared = load(folder / "state", {"KAPPA__PLACES__SHARED": str(folder / "shared")})
    fetch_programs(folder, Layout(shared, CHECKOUT))
    return made


def _write_command(file: Path) -> None:
    """What a wheel has as `kappa`: the command, by this checkout."""
    called = shlex.join([sys.executable, "-P", "-m", "cli.main"])
    file.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(search_path(CHECKOUT))} exec {called} "$@"\n')
    file.chmod(0o755)
