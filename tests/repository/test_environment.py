"""The one environment: what must agree in it, because two packages write into one folder."""

from __future__ import annotations

from importlib.metadata import version


def test_pyspark_and_the_client_that_airflow_asks_for_are_of_one_version() -> None:
    assert version("pyspark") == version("pyspark-client")
