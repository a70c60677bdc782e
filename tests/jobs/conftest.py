"""One local Spark session for the tests of transforms and stream steps, and a checkpoint of a small stream."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import session
from jobs.catalog import find, resolve
from jobs.checkpoints import Checkpoint
from tests.jobs import checkpoints, streams

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark as the jobs configure it, in this process, on two cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = session.create("tests", resolve(find("ad_ctr"), {}), master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a small stream."""
    folder = tmp_path_factory.mktemp("source")
    checkpoints.fill(spark, folder)
    return folder


@pytest.fixture(scope="module")
def made(spark: SparkSession, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a stream over these files, three batches, two partitions; for reading only."""
    folder = tmp_path_factory.mktemp("checkpoints") / "g1"
    streams.run(streams.writer(spark, source, folder))
    return folder


@pytest.fixture
def old(made: Path, tmp_path: Path) -> Checkpoint:
    """A copy of that checkpoint."""
    shutil.copytree(made, tmp_path / "g1")
    return Checkpoint(tmp_path / "g1")
