"""An S3 server on loopback, of one jar: s3proxy over a folder, for tests of what lies in a bucket."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from jobs import session
from kappa.core.store.location import Store
from kappa.core.store.places import FOLDER
from stack.containers import bucket
from stack.services import jars
from tests.rigs.jar_server import JAVA, fetched, running
from tests.rigs.small_stack import free_ports

(S3PROXY,) = (jar for jar in jars.read() if jar.group == "s3-server")
BUCKET = "state"
PLACE = f"s3a://{BUCKET}/{{}}?endpoint="
"""The setting `store` for a folder of it, before the server's URL."""
KEYS = {"AWS_ACCESS_KEY_ID": "kappa", "AWS_SECRET_ACCESS_KEY": "of-a-test"}


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """A server with one empty bucket; its URL. Skips the test where the jar cannot be had."""
    fetched(S3PROXY, folder)
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with running(command(folder, url), folder, lambda: _listens(port)):
        yield url


def command(folder: Path, endpoint: str) -> list[str]:
    """A server with one empty bucket below a folder, whose `jars` hold its own, as a command."""
    (folder / "data" / BUCKET).mkdir(parents=True)
    (folder / "s3.conf").write_text(bucket.properties(endpoint, KEYS, folder / "data"))
    jar = folder / "jars" / S3PROXY.name
    return [JAVA, "-Xmx256m", "-jar", str(jar), "--properties", str(folder / "s3.conf")]


@contextmanager
def files_in(spark: SparkSession, store: Store) -> Iterator[None]:
    """Files of a session that has begun are kept as this store asks while the body runs, then as a folder does."""
    _tell_late(spark, session.files(store))
    try:
        yield
    finally:
        _tell_late(spark, session.files(FOLDER))


def _tell_late(spark: SparkSession, files: Mapping[str, str]) -> None:
    """What is Hadoop's a session else takes at its start only."""
    for key, value in files.items():
        spark.conf.set(key, value)
        if (own := key.removeprefix("spark.hadoop.")) != key:
            spark.sparkContext._jsc.hadoopConfiguration().set(own, value)


def _listens(port: int) -> bool:
    with closing(socket.socket()) as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
