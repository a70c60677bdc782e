"""HDFS on loopback, of one jar: a name node and a data node in one process, for tests of what lies there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stack.services import jars
from stack.services.spark import spark_home
from tests.rigs.jar_server import JAVA, fetched, running
from tests.rigs.small_stack import free_ports

(MINICLUSTER,) = (jar for jar in jars.read() if jar.group == "hdfs-server")
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
    """An empty HDFS; the setting `store` for it, with `{}` for the folder. Skips the test where the jar cannot be
    had. Hadoop's own classes are those that Spark has."""
    classes = f"{fetched(MINICLUSTER, folder)}{os.pathsep}{spark_home()}/jars/*"
    name, http = free_ports(2)
    (folder / "Hdfs.java").write_text(PROGRAM)
    command = [JAVA, "-Xmx384m", "-cp", classes, str(folder / "Hdfs.java"), str(folder), str(name), str(http)]
    with running(command, folder, (folder / STARTED).exists):
        yield f"hdfs://127.0.0.1:{name}/{{}}?http=http://127.0.0.1:{http}"
