"""An Airflow of somebody else on a host of a lab: a home of its own, the wheel, and what Terraform rendered for it."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kappa.core.installation.needs import NOTES_CONNECTION
from stack.services.airflow import COMMANDS
from stack.services.passwords import write_private
from stack.waiting import until
from tests.rigs import wheel
from tests.rigs.lab.hosts import Lab

PORT = 8443
PEOPLE = {"operator": "op", "approver": "user", "viewer": "viewer"}
"""Roles of Airflow's SimpleAuthManager by who has them."""
START_SECONDS, COMMAND_SECONDS = 300, 600


@dataclass(frozen=True)
class LabAirflow:
    """A running Airflow, and the wheel's command beside it, on one host."""

    lab: Lab
    host: str
    environment: Mapping[str, str]
    programs: Path

    def kappa(self, *words: str) -> str:
        """What a command prints, as whoever is signed in; fails the test where it fails."""
        return self.lab.run(self.host, [str(self.programs / "kappa"), *words], COMMAND_SECONDS, self.environment)

    def airflow(self, *words: str) -> str:
        """What a command of Airflow prints."""
        command = [str(self.programs / "python"), "-P", "-m", "airflow", *words]
        return self.lab.run(self.host, command, COMMAND_SECONDS, self.environment)

    def sign_in(self, person: str) -> None:
        """Have the commands act as this person from now on."""
        self.kappa("login", "--user", person, "--password-file", str(_password_file(self.home, person)))

    @property
    def home(self) -> Path:
        """Where it keeps what is its own."""
        return Path(self.environment["AIRFLOW_HOME"])


def start(lab: Lab, host: str, rendered: Path, held: Path) -> LabAirflow:
    """One as docs/own_airflow.md says, from the host's files in `rendered` and the secrets in `held`; it ends with the
    lab."""
    home, folder = lab.folder / "airflow", lab.folder / "wheel"
    home.mkdir()
    built = wheel.environment(wheel.build(lab.folder), folder)
    given = dict(line.split("=", 1) for line in (rendered / "airflow.env").read_text().splitlines())
    path = os.pathsep.join([str(built / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    surroundings = {**_environment(home, host, wheel.checkout(built) / "dags", held), **given, "PATH": path}
    made = LabAirflow(lab, host, surroundings, built / "bin")
    made.airflow("db", "migrate")
    made.airflow("pools", "import", str(rendered / "airflow-pools.json"))
    made.airflow("connections", "import", str(rendered / "airflow-connections.json"))
    made.airflow("connections", "import", str(_notes(home, host)))
    for words in COMMANDS.values():
        command = [str(made.programs / "python"), "-P", "-m", "airflow", *words]
        lab.spawn(host, f"airflow-{words[0]}", command, surroundings)
    assert until(lambda: _answers(made), START_SECONDS, 2.0), "no api-server: look at logs/airflow-api-server"
    return made


def _answers(made: LabAirflow) -> bool:
    try:
        made.sign_in("operator")
    except AssertionError:
        return False
    return True


def _environment(home: Path, host: str, dags: Path, held: Path) -> dict[str, str]:
    """Of all its processes; the secrets among them are of this test only."""
    url = f"https://{host}:{PORT}"
    bundle = {"name": "kappa", "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle"}
    passwords, words = home / "passwords.json", {who: secrets.token_urlsafe() for who in PEOPLE}
    write_private(passwords, json.dumps(words))
    for who, word in words.items():
        write_private(_password_file(home, who), word)
    settings = {
        "core__executor": "LocalExecutor",
        "core__parallelism": "4",
        "core__load_examples": "False",
        "core__dags_are_paused_at_creation": "False",
        "core__fernet_key": "",
        "core__execution_api_server_url": f"{url}/execution/",
        "core__simple_auth_manager_users": ",".join(f"{who}:{role}" for who, role in PEOPLE.items()),
        "core__simple_auth_manager_passwords_file": str(passwords),
        "api__host": "0.0.0.0",
        "api__port": str(PORT),
        "api__base_url": url,
        "api__workers": "1",
        "api__secret_key": secrets.token_hex(),
        "api__ssl_cert": str(held / "tls" / f"{host}.crt"),
        "api__ssl_key": str(held / "tls" / f"{host}.key"),
        "api__ssl_ca_file": str(held / "ca.pem"),
        "api_auth__jwt_secret": secrets.token_hex(),
        "dag_processor__dag_bundle_config_list": json.dumps([{**bundle, "kwargs": {"path": str(dags)}}]),
    }
    return {
        "AIRFLOW_HOME": str(home),
        "HOME": str(home),
        "PYTHONPATH": "",
        **{f"AIRFLOW__{name.upper()}": value for name, value in settings.items()},
    }


def _notes(home: Path, host: str) -> Path:
    """A file with the connection by which tasks leave notes, which is optional."""
    word = _password_file(home, "operator").read_text()
    told = {"conn_type": "https", "host": host, "port": PORT, "login": "operator", "password": word}
    file = home / "connections.json"
    write_private(file, json.dumps({NOTES_CONNECTION: told}))
    return file


def _password_file(home: Path, person: str) -> Path:
    return home / f"{person}.password"
