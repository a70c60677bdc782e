"""HDFS of one jar: a name node and a data node in one process, for tests of what lies there."""

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
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

public class Hdfs {
    public static void main(String[] given) throws Exception {
        String folder = given[0], host = given[1];
        Configuration with = new Configuration();
        with.set("fs.defaultFS", "hdfs://" + host + ":" + given[2]);
        with.set("dfs.namenode.http-address", host + ":" + given[3]);
        with.set("dfs.namenode.name.dir", folder + "/names");
        with.set("dfs.datanode.data.dir", folder + "/blocks");
        with.set("dfs.datanode.hostname", host);
        for (String door : new String[] {"address", "http.address", "ipc.address"}) {
            with.set("dfs.datanode." + door, host + ":0");
        }
        // A name node that formats is one, too, and counts like the one that stays.
        DefaultMetricsSystem.setMiniClusterMode(true);
        NameNode.format(with);
        NameNode names = NameNode.createNameNode(new String[0], with);
        DataNode blocks = DataNode.createDataNode(new String[0], with);
        while (!blocks.isDatanodeFullyStarted() || names.isInSafeMode()) {
            Thread.sleep(100);
        }
        Files.createFile(Path.of(folder, "started"));
        Thread.sleep(Long.MAX_VALUE);
    }
}
"""


def command(folder: Path, host: str, port: int, http_port: int) -> list[str]:
    """What starts an empty HDFS that is reached by the host's name; it is up once there is a file STARTED. Hadoop's own
    classes are those that Spark has. Skips the test where the jar cannot be had."""
    classes = f"{fetched(MINICLUSTER, folder)}{os.pathsep}{spark_home()}/jars/*"
    (folder / "Hdfs.java").write_text(PROGRAM)
    words = [JAVA, "-Xmx384m", "-cp", classes, str(folder / "Hdfs.java"), str(folder), host]
    return [*words, str(port), str(http_port)]


@contextmanager
def hdfs_server(folder: Path) -> Iterator[str]:
    """One on loopback while the body runs; the setting `store` for it, with `{}` for the folder."""
    port, http_port = free_ports(2)
    with running(command(folder, "127.0.0.1", port, http_port), folder, (folder / STARTED).exists):
        yield f"hdfs://127.0.0.1:{port}/{{}}?http=http://127.0.0.1:{http_port}"
