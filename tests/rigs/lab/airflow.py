"""An Airflow of somebody else on a host of a lab: a home of its own, the wheel, and what Terraform rendered for it."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cli.entry import CHECKOUT
from kappa.core.installation.needs import NOTES_CONNECTION
from kappa.core.verb_steps import Verb
from stack.services.airflow import COMMANDS
from stack.services.passwords import write_private
from stack.waiting import until
from tests.rigs import wheel
from tests.rigs.asking_airflow import FAB_MANAGER, ROLES, fab_environment
from tests.rigs.lab.hosts import Lab

PORT = 8443
PEOPLE = {"operator": "op", "approver": "user", "viewer": "viewer"}
"""Roles of Airflow's SimpleAuthManager by who has them."""
REPLAYS = Verb.REPROCESS.dag_id
START_SECONDS, COMMAND_SECONDS = 300, 600
ANSWER = """
import sys
from kappa.airflow_api import Airflow, AirflowRefused, Run
from kappa.airflow_sign_in import SignedIn
url, ca, who, word, dag, run = sys.argv[1:]
try:
    Airflow(SignedIn(url, who, word, ca=ca)).answer(Run(dag, run), "approve", -1, "Approve")
    print("taken")
except AirflowRefused as refused:
    print(refused)
"""

VERSIONS = """
import json
from airflow.models.dag_version import DagVersion
from airflow.utils.session import create_session
from sqlalchemy import func, select
with create_session() as session:
    counted = session.execute(select(DagVersion.dag_id, func.count()).group_by(DagVersion.dag_id))
    print(json.dumps({dag_id: count for dag_id, count in counted}))
"""


@dataclass(frozen=True)
class Told:
    """What an Airflow of somebody else is told by hand: files for its commands `pools import` and `connections import`,
    its environment, what the wheel's command is given beside it, and its certificate, which `ca` vouches for."""

    environment: Mapping[str, str]
    of_commands: Mapping[str, str]
    pools: Path
    connections: Path
    certificate: Path
    key: Path
    ca: Path


@dataclass(frozen=True)
class LabAirflow:
    """A running Airflow, which `python` runs, and the wheel's command beside it, on one host."""

    lab: Lab
    host: str
    told: Told
    environment: Mapping[str, str]
    programs: Path
    python: Path

    def kappa(self, *words: str, seconds: float = COMMAND_SECONDS) -> str:
        """What a command prints, as whoever is signed in; fails the test where it fails."""
        command, surroundings = [str(self.programs / "kappa"), *words], {**self.environment, **self.told.of_commands}
        try:
            return self.lab.run(self.host, command, seconds, surroundings)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._words()}") from None

    def airflow(self, *words: str) -> str:
        """What a command of Airflow prints."""
        command = [str(self.python), "-P", "-m", "airflow", *words]
        return self.lab.run(self.host, command, COMMAND_SECONDS, self.environment)

    def rows(self, *words: str) -> list[dict[str, str]]:
        """What a command of Airflow lists, without its warnings."""
        told = self.airflow(*words, "--output", "json").splitlines()
        rows: list[dict[str, str]] = json.loads("\n".join(line for line in told if line.startswith("[{")))
        return rows

    def runs(self, dag_id: str) -> list[str]:
        """The runs of a DAG."""
        return [row["run_id"] for row in self.rows("dags", "list-runs", dag_id)]

    def answer(self, who: str, run: str) -> str:
        """What somebody's yes to a replay came to: "taken", or the refusal's words."""
        url, ca = f"https://{self.host}:{PORT}", str(self.told.ca)
        command = [sys.executable, "-c", ANSWER, url, ca, who, self.password(who), REPLAYS, run]
        return self.lab.run(self.host, command, 60, {"PYTHONPATH": str(CHECKOUT / "plugins")}).strip()

    def dag_versions(self) -> dict[str, int]:
        """By DAG, of how many versions its database knows."""
        asked = [str(self.python), "-P", "-c", VERSIONS]
        return dict(json.loads(self.lab.run(self.host, asked, COMMAND_SECONDS, self.environment).splitlines()[-1]))

    def replay(self, seconds: float) -> str:
        """The run of the only replay, once it is begun."""
        assert until(lambda: bool(self.runs(REPLAYS)), seconds, 5.0), "no replay was begun"
        (run,) = self.runs(REPLAYS)
        return run

    def say_yes(self, who: str, run: str, seconds: float) -> None:
        """Have somebody's yes to a replay taken, once it asks."""
        assert until(lambda: self.answer(who, run) == "taken", seconds, 15.0), f"{who} was not asked"

    def sign_in(self, person: str) -> None:
        """Have the commands act as this person from now on."""
        self.kappa("login", "--user", person, "--password-file", str(_password_file(self.home, person)))

    def password(self, person: str) -> str:
        """A person's."""
        return _password_file(self.home, person).read_text()

    def _words(self) -> str:
        """The last words of the tasks that ended last."""
        logs = sorted(self.home.rglob("attempt=*.log"), key=lambda file: file.stat().st_mtime)
        return "\n".join(f"--- {file}\n{file.read_text()[-3000:]}" for file in logs[-2:])

    @property
    def home(self) -> Path:
        """Where it keeps what is its own."""
        return Path(self.environment["AIRFLOW_HOME"])


def start(lab: Lab, host: str, told: Told) -> LabAirflow:
    """One as docs/own_airflow.md says, under SimpleAuthManager; it ends with the lab."""
    built = wheel.environment(wheel.build(lab.folder), lab.folder / "wheel")
    home = _home(lab)
    simple = {
        "core__simple_auth_manager_users": ",".join(f"{who}:{role}" for who, role in PEOPLE.items()),
        "core__simple_auth_manager_passwords_file": str(home / "passwords.json"),
    }
    surroundings = _surroundings(home, host, built, told, simple)
    made = LabAirflow(lab, host, told, surroundings, built / "bin", built / "bin" / "python")
    made.airflow("db", "migrate")
    return _started(made)


def start_fab(lab: Lab, host: str, told: Told) -> LabAirflow:
    """The same under the FAB provider's auth manager, in an environment of its own. Skips the test where that cannot be
    had."""
    whole = wheel.build(lab.folder)
    python = Path(fab_environment(lab.folder / "fab"))
    wheel.install(whole, python)
    built = wheel.environment(whole, lab.folder / "wheel")
    home = _home(lab)
    surroundings = _surroundings(home, host, built, told, {"core__auth_manager": FAB_MANAGER})
    made = LabAirflow(lab, host, told, surroundings, built / "bin", python)
    made.airflow("db", "migrate")
    made.airflow("roles", "import", str(ROLES))
    for who in PEOPLE:
        named = ("--firstname", who, "--lastname", "of a test", "--email", f"{who}@example.org")
        made.airflow("users", "create", "--username", who, "--role", who, f"--password={made.password(who)}", *named)
    return _started(made)


def _home(lab: Lab) -> Path:
    """The folder of an Airflow, with everybody's password."""
    home = lab.folder / "airflow"
    home.mkdir()
    words = {who: secrets.token_urlsafe() for who in PEOPLE}
    write_private(home / "passwords.json", json.dumps(words))
    for who, word in words.items():
        write_private(_password_file(home, who), word)
    return home


def _started(made: LabAirflow) -> LabAirflow:
    """With pools, connections and processes."""
    made.airflow("pools", "import", str(made.told.pools))
    made.airflow("connections", "import", str(made.told.connections))
    made.airflow("connections", "import", str(_notes(made.home, made.host)))
    for words in COMMANDS.values():
        made.lab.spawn(
            made.host, f"airflow-{words[0]}", [str(made.python), "-P", "-m", "airflow", *words], made.environment
        )
    assert until(lambda: _answers(made), START_SECONDS, 2.0), "no api-server: look at logs/airflow-api-server"
    return made


def _answers(made: LabAirflow) -> bool:
    try:
        made.sign_in("operator")
    except AssertionError:
        return False
    return True


def _surroundings(home: Path, host: str, built: Path, told: Told, people: Mapping[str, str]) -> dict[str, str]:
    """The environment of all its processes; the secrets in it are of this test only. `people`: Airflow's settings of
    who they are."""
    url = f"https://{host}:{PORT}"
    dags = wheel.checkout(built) / "dags"
    bundle = {"name": "kappa", "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle"}
    settings = {
        "core__executor": "LocalExecutor",
        "core__parallelism": "4",
        "core__load_examples": "False",
        "core__dags_are_paused_at_creation": "False",
        "core__fernet_key": "",
        "core__execution_api_server_url": f"{url}/execution/",
        "api__host": "0.0.0.0",
        "api__port": str(PORT),
        "api__base_url": url,
        "api__workers": "1",
        "api__secret_key": secrets.token_hex(),
        "api__ssl_cert": str(told.certificate),
        "api__ssl_key": str(told.key),
        "api__ssl_ca_file": str(told.ca),
        "api_auth__jwt_secret": secrets.token_hex(),
        # Not each half minute: on two cores that takes a tenth of what the lab has.
        "dag_processor__min_file_process_interval": "300",
        "dag_processor__dag_bundle_config_list": json.dumps([{**bundle, "kwargs": {"path": str(dags)}}]),
        **people,
    }
    return {
        "AIRFLOW_HOME": str(home),
        "HOME": str(home),
        "PYTHONPATH": "",
        **{f"AIRFLOW__{name.upper()}": value for name, value in settings.items()},
        "PATH": os.pathsep.join([str(built / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
        **told.environment,
    }


def _notes(home: Path, host: str) -> Path:
    """A file with the connection by which tasks leave notes, which is optional."""
    word = _password_file(home, "operator").read_text()
    told = {"conn_type": "http", "host": f"https://{host}", "port": PORT, "login": "operator", "password": word}
    file = home / "connections.json"
    write_private(file, json.dumps({NOTES_CONNECTION: told}))
    return file


def _password_file(home: Path, person: str) -> Path:
    return home / f"{person}.password"
