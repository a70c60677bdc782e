"""The Spark session of a stream job, with the settings that exactness, rescaling and latency rest on."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from kappa.core.store.hdfs import Hdfs
from kappa.core.store.location import Location, Store
from kappa.core.store.places import FOLDER
from kappa.core.store.s3 import Bucket

_STREAMING = "spark.sql.streaming"
_TRIGGER = "org.apache.spark.sql.execution.streaming.runtime.ProcessingTimeExecutor"
_FIXED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.extensions": "kappa.Eviction",
    "spark.python.daemon.module": "jobs.transforms.worker_daemon",
    # The default is 10,000 records: of the largest that may count, 640 MB in the JVM, and again in Python.
    "spark.sql.execution.arrow.maxBytesPerBatch": "16MB",
    # Kept from batch 0 on: the provider is pinned by the checkpoint, and only RocksDB's state can be repartitioned.
    f"{_STREAMING}.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STREAMING}.stateStore.rocksdb.boundedMemoryUsage": "true",
    # All partitions' of a driver. What a driver touches often is in the machine's cache of files, too.
    f"{_STREAMING}.stateStore.rocksdb.maxMemoryUsageMB": "64",
    # Evicting state needs no batches of its own: finality comes from append times, not from the watermark.
    f"{_STREAMING}.noDataMicroBatches.enabled": "false",
    f"{_STREAMING}.numRecentProgressUpdates": "5",
    # The default falls back to sorting after 128 groups.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000000",
    # Else each column remembers which line of Python made it: half of what it takes to build a query.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.ui.enabled": "false",
}


_FILE_MANAGER = f"{_STREAMING}.checkpointFileManagerClass"
_IN_FOLDER = {
    # The default manager starts a process for each file that it renames, Spark's other one for each that it makes; the
    # fence keeps a second driver out anyway.
    _FILE_MANAGER: "kappa.FolderCheckpointFileManager"
}
_S3A = "spark.hadoop.fs.s3a"
_IN_BUCKET = {
    # Others lose a file that a second writer put first, or that was not put at all, in silence (decision 0056).
    _FILE_MANAGER: "kappa.ConditionalCheckpointFileManager",
    f"{_S3A}.fast.upload.buffer": "bytebuffer",
    f"{_S3A}.input.stream.type": "classic",
    f"{_S3A}.performance.flags": "create,mkdir,delete",
}
_IN_HDFS = {
    # It renames, and the name node lets one of several who rename to a name succeed.
    _FILE_MANAGER: "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager",
    # A file that is closed is asked for once more if its block is not reported yet: after 400 ms by default, which each
    # file of a batch may wait.
    "spark.hadoop.dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "10",
}


def create(
    name: str, settings: Mapping[str, int], master: str | None = None, *, store: Location | None = None
) -> SparkSession:
    """The session of one driver, whose checkpoints lie in `store`, by default in some folder; `master` only where the
    submission has not set it (tests, benches)."""
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in {
        **_FIXED,
        **files(store.store if store else FOLDER),
        "spark.sql.shuffle.partitions": settings.get("state_partitions", 1),
    }.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    _be_quiet_of_cadences(session)
    return session


def _be_quiet_of_cadences(session: SparkSession) -> None:
    """Not told that a batch took longer than its cadence: the driver tells how long each takes, and one that rests at
    its end takes just that."""
    assert session._jvm is not None, "a session has a JVM"
    log4j = session._jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(_TRIGGER, log4j.Level.ERROR)


def files(store: Store) -> dict[str, str]:
    """How Spark reads and writes what lies in a store. Keys are no part of it: they come from the environment or the
    machine's role, since settings are seen in listings of processes, logs and pages."""
    if isinstance(store, Hdfs):
        return _IN_HDFS
    if not isinstance(store, Bucket):
        return _IN_FOLDER
    of_server = {
        f"{_S3A}.endpoint": store.endpoint,
        f"{_S3A}.path.style.access": "true",
        f"{_S3A}.connection.ssl.enabled": str(not store.endpoint.startswith("http:")).lower(),
    }
    return {**_IN_BUCKET, f"{_S3A}.endpoint.region": store.region, **(of_server if store.endpoint else {})}
