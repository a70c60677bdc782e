"""HDFS on loopback, of one jar: a name node and a data node in one process, for tests of what lies there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.database import free_port
from cli.entry import CHECKOUT
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.services import jars
from stack.services.jars import JarUnreachable
from stack.services.spark import spark_home
from stack.waiting import until

(MINICLUSTER,) = (jar for jar in jars.read() if jar.group == "hdfs-server")
PATIENCE_SECONDS = 90.0
STARTED = "started"
PROGRAM = """
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

public class Hdfs {
    public static void main(String[] given) throws Exception {
        Configuration with = new Configuration();
        with.set("hdfs.minidfs.basedir", given[0] + "/data");
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(with).numDataNodes(1)
            .nameNodePort(Integer.parseInt(given[1])).nameNodeHttpPort(Integer.parseInt(given[2])).format(true).build();
        cluster.waitActive();
        Files.createFile(Path.of(given[0], "started"));
        Thread.sleep(Long.MAX_VALUE);
    }
}
"""


@contextmanager
def hdfs_server(folder: Path) -> Iterator[str]:
    """An empty HDFS; the setting `store` for it, whose folder can be added to. Skips the test where the jar cannot be
    had."""
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    try:
        jars.fetch([MINICLUSTER], jars.repository(os.environ), cache, {MINICLUSTER.group: folder / "jars"})
    except JarUnreachable as away:
        pytest.skip(f"no HDFS for the test: {away}")
    name, http = free_port(), free_port()
    (folder / "Hdfs.java").write_text(PROGRAM)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            _command(folder, name, http), stdout=log, stderr=subprocess.STDOUT, cwd=folder, stdin=subprocess.DEVNULL
        )
    try:
        assert until((folder / STARTED).exists, PATIENCE_SECONDS), (folder / "log").read_text()
        yield f"hdfs://127.0.0.1:{name}/{{}}?http=http://127.0.0.1:{http}"
    finally:
        server.kill()
        server.wait()


def _command(folder: Path, name: int, http: int) -> list[str]:
    """The program from its source: Hadoop's own classes are those that Spark has."""
    classes = f"{folder / 'jars' / MINICLUSTER.name}{os.pathsep}{spark_home()}/jars/*"
    program = [str(folder / "Hdfs.java"), str(folder), str(name), str(http)]
    return [shutil.which("java") or "java", "-Xmx384m", "-cp", classes, *program]
