"""A driver with much unread begins with a query for one batch of few records where it is cold, and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import query, standby
from jobs.driver.registry import DriverRegistry
from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
FEW = 5


@pytest.fixture
def cold(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """The session, of which nobody knows that it is warm; more than FEW records are much."""
    monkeypatch.setattr(query, "FIRST_RECORDS", FEW)
    monkeypatch.setattr(standby, "FIRST_RECORDS", FEW)
    spark.conf.unset(standby.WARM)
    yield spark
    spark.conf.unset(standby.WARM)


@pytest.fixture
def of_one_batch(cold: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The queries that are started for one batch."""
    started, start = list[Any](), query.start_one_batch

    def noted(writer: Any) -> Any:
        started.append(start(writer))
        return started[-1]

    monkeypatch.setattr(query, "start_one_batch", noted)
    return started


def cold_driver(case: Case, spark: SparkSession) -> None:
    """Nothing was planned, and nothing was warmed."""


def pending_batch(case: Case, spark: SparkSession) -> None:
    """The driver before was killed after its COMMIT, of which Spark knows nothing."""
    checkpoint = case.checkpoint()
    (checkpoint.place / "commits").remove([str(checkpoint.newest_committed())])
    assert checkpoint.is_pending()


def warmed(case: Case, spark: SparkSession) -> None:
    """It stood by."""
    warm(case, spark)


@pytest.mark.parametrize(("given", "times"), [(cold_driver, 1), (pending_batch, 0), (warmed, 0)])
def test_few_records_first_where_a_batch_of_all_would_be_slow(
    rig: Rig, of_one_batch: list[Any], cold: SparkSession, given: Callable[[Case, SparkSession], None], times: int
) -> None:
    case = rig.case()
    case.produce(events(FEW))
    case.run_until_read()
    case.produce(events(2 * FEW, FEW))
    given(case, cold)
    of_one_batch.clear()
    case.run_until_read()
    assert len(of_one_batch) == times
    case.check()


@pytest.mark.parametrize("records", [0, FEW])
def test_who_has_warmed_itself_with_records_is_warm(rig: Rig, cold: SparkSession, records: int) -> None:
    case = rig.case()
    case.produce(events(records))
    warm(case, cold)
    assert standby.is_warm(cold) is (records > 0)


def warm(case: Case, spark: SparkSession) -> None:
    """What a driver that stands by does first."""
    staged = case.version()
    with closing(DriverRegistry(case.settings, staged.job, staged.version)) as registry:
        version = registry.describe()
    standby.warm(spark, case.settings, version, case.ends(), case.settings.scratch(staged.folder.name), lambda: True)
