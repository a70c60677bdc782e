"""The Spark session of a stream job, with the settings that exactness, rescaling and latency rest on."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

_STREAMING = "spark.sql.streaming"
_FIXED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # The default is 10,000 records: of the largest that may count, 640 MB in the JVM, and again in Python.
    "spark.sql.execution.arrow.maxBytesPerBatch": "16MB",
    # Kept from batch 0 on: the provider is pinned by the checkpoint, and only RocksDB's state can be repartitioned.
    f"{_STREAMING}.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STREAMING}.stateStore.rocksdb.boundedMemoryUsage": "true",
    f"{_STREAMING}.stateStore.rocksdb.maxMemoryUsageMB": "256",
    # The default manager forks a process for each file it renames; the fence keeps a second driver out anyway.
    f"{_STREAMING}.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Evicting state needs no batches of its own: finality comes from append times, not from the watermark.
    f"{_STREAMING}.noDataMicroBatches.enabled": "false",
    f"{_STREAMING}.numRecentProgressUpdates": "5",
    # The default falls back to sorting after 128 groups.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000000",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.ui.enabled": "false",
}


def create(name: str, settings: Mapping[str, int], master: str | None = None) -> SparkSession:
    """The session of one driver; `master` only where the submission has not set it (tests, benches)."""
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in {**_FIXED, "spark.sql.shuffle.partitions": settings.get("state_partitions", 1)}.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    return session
