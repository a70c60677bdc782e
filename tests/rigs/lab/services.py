"""A whole installation on the hosts of a lab, reached by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

import pytest

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings, load
from stack.layout import Layout
from stack.services import class_archive, jars, passwords, spark_jar
from stack.waiting import until
from tests.rigs.certificates import certify
from tests.rigs.lab import hosts, parts
from tests.rigs.lab.hosts import Lab
from tests.rigs.lab.parts import (
    BROKERS,
    CLIENT,
    ELECTION,
    ELECTION_PORT,
    MASTERS,
    POSTGRES,
    STORE,
    STORES,
    WITH_TLS,
    WORKERS,
    Keeper,
    Part,
)

HOSTS = (*BROKERS, POSTGRES, ELECTION, *MASTERS, *WORKERS, STORE, CLIENT)
CORES = 3
"""A driver and two executors of one core fit on one host when the other is lost, and nothing else does."""
PATIENCE_SECONDS = 400.0
UNTIL_ELECTION = f"until (exec 3<>/dev/tcp/{ELECTION}/{ELECTION_PORT}) 2>/dev/null; do sleep 0.3; done"
INSTALLATION = """
[kafka]
bootstrap = "{bootstrap}"
ca = "{ca}"
[postgres]
host = "{postgres}"
sslrootcert = "{ca}"
[spark]
master = "spark://m1:7077,m2:7077"
rest = ["http://m1:6066", "http://m2:6066"]
ui = ["http://m1:8080", "http://m2:8080"]
allow_plain = true
[airflow]
url = "https://airflow"
[places]
shared = "{folder}/shared"
secrets = "{folder}/secrets"
store = "{store}"
allow_plain = true
[topic]
partitions = 4
"""


@dataclass(frozen=True)
class Installed:
    """An installation on the hosts of a lab, and the settings by which all of them reach it, from a file."""

    lab: Lab
    settings: Settings
    file: Path
    parts: Mapping[str, Part]

    def start(self, host: str) -> None:
        """Start what runs on a host; what it says is in `logs/HOST`."""
        self.lab.spawn(host, host, *self.parts[host])

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """`tests.rigs.lab.client` at work, whose answer will be in `logs/FIRST-WORD`."""
        return self.lab.spawn(CLIENT, words[0], self._asked(words), self.environment)

    def ask(self, *words: str, seconds: float = PATIENCE_SECONDS) -> str:
        """What `tests.rigs.lab.client` answers on the host that nothing else runs on."""
        return self.lab.run(CLIENT, self._asked(words), seconds, self.environment)

    def answer(self, *words: str) -> object:
        """The same, read; what it said instead where it failed, as it does while a part is away."""
        try:
            return json.loads(self.ask(*words))
        except AssertionError as error:
            return str(error)

    @property
    def environment(self) -> dict[str, str]:
        """By which a process on that host finds code and settings."""
        search = os.pathsep.join(str(CHECKOUT / folder) for folder in ("", "plugins", "great_expectations"))
        found = {"PYTHONPATH": search, "KAPPA_HOME": str(self.settings.home), "KAPPA_SETTINGS": str(self.file)}
        return found | parts.store_keys(self.settings)

    @staticmethod
    def _asked(words: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "tests.rigs.lab.client", *words]


@contextmanager
def installation(cores: int = CORES, keeper: Keeper = Keeper.FOLDER) -> Iterator[Installed]:
    """All of it, healthy, on hosts that are there as long as the body runs. Skips the test where there can be none."""
    with _lab(*HOSTS) as lab:
        made = install(lab, cores, keeper)
        await_health(made)
        yield made


@contextmanager
def brokers_alone() -> Iterator[Installed]:
    """Three brokers that were started, each with its own host, and a client's host. Skips the test where there can be
    no hosts."""
    with _lab(*BROKERS, CLIENT) as lab:
        settings = _settle(lab, Keeper.FOLDER)
        made = Installed(
            lab, settings, lab.folder / "kappa.toml", parts.brokers(lab.folder, Layout(settings, CHECKOUT))
        )
        for host in BROKERS:
            made.start(host)
        yield made


@contextmanager
def _lab(*names: str) -> Iterator[Lab]:
    if why := hosts.missing():
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="kappa-lab-"))
    folder.chmod(0o755)
    try:
        with hosts.lab(folder, *names) as lab:
            yield lab
    finally:
        rmtree(folder, ignore_errors=True)


def _settle(lab: Lab, keeper: Keeper) -> Settings:
    """Settings, secrets, certificates and programs, in the lab's folder."""
    folder = lab.folder
    (folder / "shared").mkdir()
    ca = certify(folder / "tls", HOSTS)
    bootstrap = ",".join(f"{host}:9092" for host in BROKERS)
    places = {"bootstrap": bootstrap, "ca": ca, "postgres": POSTGRES, "folder": folder, "store": STORES[keeper]}
    told = INSTALLATION.format(**places)
    (folder / "kappa.toml").write_text(told)
    settings = load(folder / "state", {})
    settings.home.mkdir()
    passwords.make(settings)
    layout = Layout(settings, CHECKOUT)
    fetch_programs(folder, layout)
    class_archive.name(layout)
    return settings


def install(lab: Lab, cores: int, keeper: Keeper) -> Installed:
    """Write settings, secrets and certificates, and start every part; `await_health` waits for them."""
    settings, folder = _settle(lab, keeper), lab.folder
    layout = Layout(settings, CHECKOUT)
    made = Installed(lab, settings, folder / "kappa.toml", {
        POSTGRES: parts.postgres(folder, settings), **parts.brokers(folder, layout),
        **parts.cluster(folder, settings, cores), **parts.store(folder, layout),
    })  # fmt: skip
    for host in sorted(made.parts, key=ELECTION.__ne__):
        if host == MASTERS[0]:
            # A master that cannot ask who leads for a minute ends.
            lab.run(CLIENT, ["bash", "-c", UNTIL_ELECTION], PATIENCE_SECONDS)
        made.start(host)
    return made


def fetch_programs(folder: Path, layout: Layout) -> None:
    """The jars of Kafka and of the drivers, and a Postgres with TLS in the folder `pg`."""
    shared, place = layout.settings.jars, folder / POSTGRES
    folders = {"broker": layout.broker_jars, "spark": shared, "postgres": place}
    folders |= {"s3": shared} if parts.store_keys(layout.settings) else {}
    jars.fetch([*jars.read(), WITH_TLS], jars.repository(os.environ), layout.jar_cache, folders)
    parts.unpack_postgres(place)
    spark_jar.put(shared)


def await_health(installed: Installed, workers: int = len(parts.WORKERS)) -> None:
    """Wait until the client on its host has prepared all parts, and so many workers are there; fails with what it said
    last."""
    said: list[str] = []

    def prepared() -> bool:
        try:
            _, there = json.loads(installed.ask("prepare"))
        except AssertionError as error:
            said[:] = [str(error)]
            return False
        said[:] = [f"{there} of {workers} workers have registered"]
        return bool(there == workers)

    assert until(prepared, PATIENCE_SECONDS, 2.0), said[-1]
