"""A checkpoint of a small stream, for tests of what reads, copies and changes checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.checkpoints import Checkpoint
from tests.jobs import checkpoints, streams


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
