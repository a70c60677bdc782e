"""An S3 server on loopback, of one jar: s3proxy over a folder, for tests of what lies in a bucket."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cli.entry import CHECKOUT
from jobs import session
from kappa.core.installation.settings import Settings
from kappa.core.store.location import Store
from kappa.core.store.places import FOLDER
from stack.containers import bucket
from stack.layout import Layout
from stack.services import jars
from stack.services.jars import JarUnreachable
from stack.waiting import until

(S3PROXY,) = (jar for jar in jars.read() if jar.group == "s3-server")
BUCKET = "state"
PLACE = f"s3a://{BUCKET}/{{}}?endpoint="
"""The setting `store` for a folder of it, before the server's URL."""
KEYS = {"AWS_ACCESS_KEY_ID": "kappa", "AWS_SECRET_ACCESS_KEY": "of-a-test"}
PATIENCE_SECONDS = 60.0


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """A server with one empty bucket; its URL. Skips the test where the jar cannot be had."""
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    try:
        jars.fetch([S3PROXY], jars.repository(os.environ), cache, {S3PROXY.group: folder / "jars"})
    except JarUnreachable as away:
        pytest.skip(f"no S3 server for the test: {away}")
    port = _free_port()
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command(folder, f"http://127.0.0.1:{port}"), stdout=log, stderr=subprocess.STDOUT)
    try:
        assert until(lambda: _listens(port), PATIENCE_SECONDS), (folder / "log").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def command(folder: Path, endpoint: str) -> list[str]:
    """A server with one empty bucket below a folder, whose `jars` hold its own, as a command."""
    (folder / "data" / BUCKET).mkdir(parents=True)
    (folder / "s3.conf").write_text(bucket.properties(endpoint, KEYS, folder / "data"))
    java, jar = shutil.which("java") or "java", folder / "jars" / S3PROXY.name
    return [java, "-Xmx256m", "-jar", str(jar), "--properties", str(folder / "s3.conf")]


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


def _free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _listens(port: int) -> bool:
    with closing(socket.socket()) as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
