"""Of several masters each is asked; what does its work in its own process asks nobody."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from jobs.driver import applications
from jobs.driver.registry import DriverRegistry
from kappa.core.installation.settings import Settings


@pytest.mark.parametrize(
    ("url", "masters"),
    [
        ("spark://m1:7077", ["spark://m1:7077"]),
        ("spark://m1:7077,m2:7078", ["spark://m1:7077", "spark://m2:7078"]),
        ("local[2]", []),
    ],
)
def test_each_master_of_a_standalone_cluster_has_a_url_of_its_own(url: str, masters: list[str]) -> None:
    assert applications.masters_of(url) == masters


def test_a_driver_that_does_its_work_itself_notes_no_application(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The registry would be asked for its connection otherwise, and there is none."""
    nowhere = DriverRegistry(Settings(tmp_path_factory.mktemp("state")), "ad_ctr", 1, 1)
    applications.end_superseded(spark, nowhere)
