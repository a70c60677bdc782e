"""What all tests share: one real stack for the whole run, started beside the tests that need none and used last; the
rigs R0 and R1, and one warm Spark session."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from random_order.config import Config as RandomOrder

from cli.entry import CHECKOUT
from cli.suite import PLACES, WORDS, is_read
from jobs import session
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find, resolve
from stack.layout import Layout
from stack.services import class_archive, jars, spark_jar
from tests.integration.replays.edge import Edge
from tests.rigs.hdfs_server import hdfs_server
from tests.rigs.rig import Rig, rig_on
from tests.rigs.running_stack import IN_THEIR_DRIVERS, ON_EXECUTOR, SETTINGS, Stack, Starting, starting
from tests.rigs.s3_server import KEYS, PLACE, s3_server
from tests.rigs.small_stack import small_cluster, small_stack
from tests.rigs.staged_driver import local_spark
from tests.tally import minutes

pytest_plugins = ["tests.hung", "tests.red_without", "tests.measured", "tests.seeds"]
UNIT, RIG, STACK, REPLAYS, LAST = range(5)
"""What a test needs: nothing, a rig of some parts, the whole stack, or one that has been at work for a while (`grown`),
the last of all where it leaves that one unfit for others (the mark `last`)."""
SECONDS = {UNIT: 600, RIG: 600, STACK: 600, REPLAYS: 600, LAST: 600}
"""How long a test may take, apart from its fixtures, where it does not say so itself: a hang costs no more. Of a unit
that computes for 8 seconds a slow machine has made 191, as the other parts go before it: a limit near what a test takes
finds slow machines, and no hangs."""
LONG_FACTOR = 3
"""So many times what a long test is known to take is a hang."""

GROWN = "grown"
"""The fixture that is the stack with windows that are final: whoever comes early waits for that."""
TESTS = CHECKOUT / "tests"
SPARK_MEMORY_MB = 2_048
"""What hundreds of queries leave behind in one session is more than a driver has."""


def pytest_configure() -> None:
    """What the environment tells this pytest is not for those that its tests start."""
    os.environ.pop("PYTEST_ADDOPTS", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """How much long tests do."""
    parser.addoption("--mix-minutes", type=float, default=30, help="How long the random mix of faults (F33) goes on.")
    said = "Records a second, 500,000 in all, while test_hosts_and_stores.py rescales jobs; 200 if not given."
    parser.addoption("--lab-rate", type=int, help=said)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is wrong without the stack shows first, also in a shuffled run; each test has a time-out."""
    items.sort(key=_needs)
    for item in items:
        if item.get_closest_marker("timeout") is None:
            limit = max(SECONDS[_needs(item)], _cold_seconds(item), 60 * LONG_FACTOR * minutes(item))
            item.add_marker(pytest.mark.timeout(limit, func_only=True))


def pytest_itemcollected(item: pytest.Item) -> None:
    """A long test that does not say how long it takes is refused in every run, also in those that leave it out, and so
    is one where its part does not look. What needs Spark is marked so, and as on a rig, so that the parts have fewer
    sessions between them; faults on the rig R1 are marked, for they are a part, too."""
    minutes(item)
    needed = set(getattr(item, "fixturenames", ()))
    if "spark" in needed:
        item.add_marker(pytest.mark.rig)
        item.add_marker(pytest.mark.spark)
    if TESTS in item.path.parents:
        _check_place(item)
    if item.nodeid.startswith(PLACES["faults"]) and {"spark", "cases"} <= needed:
        item.add_marker(pytest.mark.r1_fault)


def _check_place(item: pytest.Item) -> None:
    """Refuse a test that its part would not read."""
    if item.get_closest_marker("integration") is not None:
        if not item.nodeid.startswith(PLACES["stack"]):
            raise pytest.UsageError(
                f"{item.nodeid} needs the whole stack and lies outside of {PLACES['stack']}: move it"
            )
    elif item.get_closest_marker("rig") is not None:
        part = "rigs" if item.get_closest_marker("spark") is not None else "servers"
        if not is_read(part, item.path):
            raise pytest.UsageError(
                f"{item.nodeid} is of the part '{part}', which reads only files in which /{WORDS[part]}/ is found, and "
                "this is none: name the fixture or the mark in it, or say in its first sentence that it needs the rig"
            )


def pytest_collection_finish() -> None:
    """What was imported stays: no collection of garbage has to look at it again."""
    gc.collect()
    gc.freeze()


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """How long the long ones take, before the first begins, and what runs a shuffled order again."""
    total, order = sum(minutes(item) for item in items), RandomOrder(config)
    takes = [f"the long tests take about {total:.0f} min"] if total else []
    return takes + ([f"--random-order-seed={order.seed} runs them in this order again"] if order.is_enabled else [])


def _cold_seconds(item: pytest.Item) -> int:
    """What a test in the warm session is given: the first one warms it, and a py4j call that is cut off breaks it."""
    return SECONDS[RIG] if "spark" in getattr(item, "fixturenames", ()) else 0


def _needs(item: pytest.Item) -> int:
    """Which of these it needs. Other versions come to serve on a stack that has grown, so all others run before."""
    if item.get_closest_marker("integration") is not None:
        if item.get_closest_marker("last") is not None:
            return LAST
        return REPLAYS if GROWN in getattr(item, "fixturenames", ()) else STACK
    return RIG if item.get_closest_marker("rig") is not None else UNIT


@pytest.fixture(scope="session", autouse=True)
def shared(request: pytest.FixtureRequest) -> Iterator[Starting | None]:
    """The shared stack, begun before the first test; None where no test of this run needs it."""
    if not any(_needs(item) >= STACK for item in request.session.items):
        yield None
        return
    with starting() as begun:
        yield begun


@pytest.fixture(scope="session")
def live(shared: Starting | None) -> Stack:
    """A real stack with an empty log, on ports and folders of its own, beside a stack that may be running."""
    assert shared is not None, "mark the test with pytest.mark.integration"
    return shared.stack()


@pytest.fixture(scope="session")
def stack(live: Stack) -> Settings:
    """The settings of that stack."""
    return live.settings


@pytest.fixture(scope="session")
def edge(live: Stack) -> Iterator[Edge]:
    """The records around T, the first of them in the log before anything is deployed."""
    edge = Edge(live.settings)
    edge.begin()
    yield edge
    edge.await_sent()


@pytest.fixture(scope="session")
def deployed(live: Stack, edge: Edge) -> Stack:
    """The stack with all jobs of the catalogue deployed from the beginning of the log, which knows an edge T."""
    live.kappa("deploy", *IN_THEIR_DRIVERS, *SETTINGS, "--reason", "test")
    live.kappa("deploy", ON_EXECUTOR, *SETTINGS, "--set", "executors=1", "--reason", "test")
    return live


@pytest.fixture(scope="session")
def parts() -> Iterator[Layout]:
    """Rig R0: Kafka with the topic, and Postgres with the schema, on ports and folders of their own; no whole stack."""
    with small_stack(partitions=2) as layout:
        yield layout


@pytest.fixture(scope="session")
def lone_cluster() -> Iterator[Layout]:
    """Spark's master and worker and nothing else; who starts drivers on it ends them."""
    with small_cluster() as layout:
        yield layout


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark as the jobs configure it, in this process, on two cores, with jars and keys of a driver that uses S3."""
    home = Settings(tmp_path_factory.mktemp("state"))
    cache = Layout(Settings(CHECKOUT / ".kappa"), CHECKOUT).jar_cache
    jars.fetch(jars.read(), jars.repository(os.environ), cache, {"spark": home.jars, "s3": home.jars})
    spark_jar.put(home.jars)
    class_archive.make(Layout(home, CHECKOUT))
    os.environ |= {**local_spark(home, SPARK_MEMORY_MB), **KEYS}
    spark = session.create("tests", resolve(find("ad_ctr"), {}))
    del os.environ["PYSPARK_SUBMIT_ARGS"]
    spark.sparkContext.setLogLevel("ERROR")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    yield spark
    _end_state_maintenance(spark)
    spark.stop()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of S3 with an empty bucket, whose keys this process has; its URL."""
    os.environ |= KEYS
    with s3_server(tmp_path_factory.mktemp("s3")) as url:
        yield url


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An empty HDFS: the setting `store`, with `{}` for the folder."""
    with hdfs_server(tmp_path_factory.mktemp("hdfs")) as place:
        yield place


@pytest.fixture(params=["s3", "hdfs"])
def server_store(request: pytest.FixtureRequest) -> str:
    """A store on a server, of each kind: the setting `store`, with `{}` for the folder."""
    server: str = request.getfixturevalue(request.param)
    return PLACE + server if request.param == "s3" else server


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
