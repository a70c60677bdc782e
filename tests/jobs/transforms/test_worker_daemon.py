"""What Python's workers are forked from has loaded what they need, and no thread runs in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cli.entry import CHECKOUT
from jobs.transforms import worker_daemon
from kappa.core.spark_environment import environment

COUNT = f"import os, {worker_daemon.__name__}; print(len(os.listdir('/proc/self/task')))"


def test_no_library_has_started_a_thread_before_workers_are_forked() -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-c", COUNT], env=environment(CHECKOUT, sys.executable), capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (0, "1\n"), ran.stderr


@pytest.mark.rig
def test_a_worker_has_the_modules_of_our_jobs_before_its_first_task(spark: SparkSession) -> None:
    def loaded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Whether a module is there that this function does not need."""
        for batch in batches:
            there = int("jobs.transforms.windows" in sys.modules)
            yield pa.RecordBatch.from_pydict({"id": [there] * len(batch)}, batch.schema)

    (found,) = spark.range(1, numPartitions=1).mapInArrow(loaded, "id long").collect()
    assert found.id == 1
