"""The applications of a version's earlier drivers: a cluster keeps one whose driver's host it lost, cores and all."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from pyspark.sql import SparkSession

from jobs.driver.registry import DriverRegistry
from jobs.postgres import TRANSIENT

logger = logging.getLogger("kappa.applications")
STANDALONE = "spark://"


def end_superseded(spark: SparkSession, registry: DriverRegistry) -> None:
    """Note the session's application as this driver's, and have the cluster end those of the drivers before it.

    The master never asks whether the driver of an application lives: one that was cut off leaves its executors to it,
    and new ones are started in the place of those that die, with cores that this driver may wait for. What goes wrong
    here is in its log, and makes the start slower, nothing else.
    """
    masters = masters_of(spark.sparkContext.master or "")
    if not masters:
        return
    try:
        superseded = registry.note_application(spark.sparkContext.applicationId)
    except TRANSIENT as error:
        logger.warning("postgres is away, so no earlier application is ended: %s", str(error).splitlines()[:1])
        return
    for master in masters if superseded else ():
        # A master that does not answer is waited for, by whoever asks it.
        threading.Thread(target=end, args=(spark, master, superseded), name=f"end-{master}", daemon=True).start()


def masters_of(url: str) -> list[str]:
    """The masters that the URL of a standalone cluster names, each by a URL of its own; none of any other."""
    if not url.startswith(STANDALONE):
        return []
    return [f"{STANDALONE}{address}" for address in url.removeprefix(STANDALONE).split(",")]


def end(spark: SparkSession, master: str, applications: Sequence[str]) -> None:
    """Have a master end applications, as each asks for itself at its end; one that it does not know is no matter.

    By the message of Spark's own client (DeployMessages of Spark 4.2.0): the submission server ends drivers only, and
    the button on the master's page is there for whoever sees the page.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a session has a JVM"
    address = jvm.org.apache.spark.rpc.RpcAddress.fromSparkURL(master)
    endpoint = jvm.org.apache.spark.SparkEnv.get().rpcEnv().setupEndpointRef(address, "Master")
    unregister = getattr(jvm.org.apache.spark.deploy, "DeployMessages$UnregisterApplication")
    for application in applications:
        endpoint.send(unregister(application))
    logger.info("%s was asked to end %s", master, applications)
