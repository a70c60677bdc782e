"""A checkpoint of a small stream, for tests of what works on checkpoints; desks that write batches made by hand."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kappa.core.checkpoint.reader import Checkpoint
from tests.jobs import checkpoints, streams
from tests.jobs.books import Desk, desk_of
from tests.rigs.case import Case
from tests.rigs.checkpoint_folders import in_folder
from tests.rigs.rig import Rig


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
    return in_folder(tmp_path / "g1")


@pytest.fixture(scope="module")
def case(cases: Rig) -> Case:
    """A case of R0 for what needs no Spark."""
    return cases.case("ad_ctr", "quarantine")


@pytest.fixture
def desk(case: Case) -> Iterator[Desk]:
    """ad_ctr's, with nothing written yet."""
    yield from desk_of(case, "ad_ctr")


@pytest.fixture
def keeper(case: Case) -> Iterator[Desk]:
    """The quarantine's."""
    yield from desk_of(case, "quarantine")
