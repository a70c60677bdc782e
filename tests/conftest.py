"""What all tests share: one real stack for the whole run, started beside the tests that need none and used last; the
rigs R0 and R1, and one warm Spark session."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import SparkSession

from bench.small_stack import small_stack
from bench.staged_driver import local_spark
from cli.entry import CHECKOUT
from jobs import session
from jobs.catalog import find, resolve
from jobs.settings import Settings
from stack import jars
from stack.layout import Layout
from tests.rig import Rig, rig_on
from tests.running_stack import JOBS, Stack, Starting, starting

SPARK_MEMORY_MB = 1_024


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the real stack come last: what is wrong without it shows first. The very last have one of their own, for
    which the shared one is taken down."""
    items.sort(key=lambda item: (_is_integration(item), "own" in _fixtures(item)))


def _is_integration(item: pytest.Item) -> bool:
    return item.get_closest_marker("integration") is not None


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


@pytest.fixture(scope="session", autouse=True)
def shared(request: pytest.FixtureRequest) -> Iterator[Starting | None]:
    """The shared stack, begun before the first test; None where no test of this run needs it."""
    if not any(_is_integration(item) and "live" in _fixtures(item) for item in request.session.items):
        yield None
        return
    with starting() as begun:
        yield begun


@pytest.fixture(scope="session")
def live(shared: Starting) -> Stack:
    """A real stack with an empty log, on ports and folders of its own, beside a stack that may be running."""
    return shared.stack()


@pytest.fixture(scope="session")
def stack(live: Stack) -> Settings:
    """The settings of that stack."""
    return live.settings


@pytest.fixture(scope="session")
def deployed(live: Stack) -> Stack:
    """The stack with all jobs of the catalogue deployed from the beginning of the log."""
    live.kappa("deploy", *JOBS, "--reason", "test")
    return live


@pytest.fixture(scope="session")
def parts() -> Iterator[Layout]:
    """Rig R0: Kafka with the topic, and Postgres with the schema, on ports and folders of their own; no whole stack."""
    with small_stack(partitions=2) as layout:
        yield layout


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark as the jobs configure it, in this process, on two cores, with the jars that a driver has."""
    folder = tmp_path_factory.mktemp("jars")
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    wanted = [jar for jar in jars.read() if jar.group == "spark"]
    jars.fetch(wanted, jars.repository(os.environ), cache, {"spark": folder})
    os.environ |= local_spark(folder, SPARK_MEMORY_MB)
    spark = session.create("tests", resolve(find("ad_ctr"), {}))
    del os.environ["PYSPARK_SUBMIT_ARGS"]
    spark.sparkContext.setLogLevel("ERROR")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    yield spark
    _end_state_maintenance(spark)
    spark.stop()


def _end_state_maintenance(spark: SparkSession) -> None:
    """Its thread would complain of the session's end."""
    assert spark._jvm is not None
    stores = spark._jvm.org.apache.spark.sql.execution.streaming.state
    getattr(getattr(stores, "StateStore$"), "MODULE$").stop()


@pytest.fixture(scope="session")
def cases(parts: Layout, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """Rig R0 with a log and a database of its own for each case; no Spark."""
    return rig_on(parts, tmp_path_factory.mktemp("rig"))


@pytest.fixture(scope="session")
def rig(cases: Rig, spark: SparkSession) -> Rig:
    """Rig R1: R0 and the real query, sink and driver in the warm session."""
    return cases
