"""One local Spark session for the tests of transforms and stream steps."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import session
from jobs.catalog import find, resolve

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
