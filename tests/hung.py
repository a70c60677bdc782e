"""The last resort against a test that its time-out could not end, since a `finally` of a library waits on."""

from __future__ import annotations

import faulthandler
import os
import threading
from collections.abc import Generator

import pytest
from pyspark import SparkContext

SPARK_ENDS_SECONDS = 15.0
"""After the time-out: then the JVM is killed that the test may wait for."""
PYTEST_ENDS_SECONDS = 120.0
"""After the time-out: then the whole pytest ends, and says where each of its threads stood."""
_stderr = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the standard error that is not captured."""
    capture = config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        config.stash[_stderr] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A py4j call into a JVM without an answer outlives the exception of the time-out; it ends with the JVM."""
    marker = item.get_closest_marker("timeout")
    if marker is None or not marker.args:
        return (yield)
    limit, stderr = float(marker.args[0]), item.config.stash[_stderr]
    killer = threading.Timer(limit + SPARK_ENDS_SECONDS, _end_spark, (stderr,))
    killer.daemon = True
    killer.start()
    faulthandler.dump_traceback_later(limit + PYTEST_ENDS_SECONDS, file=stderr, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        killer.cancel()


def _end_spark(stderr: int) -> None:
    """Kill the JVM of the warm session, if there is one."""
    faulthandler.dump_traceback(stderr)
    gateway = SparkContext._gateway
    if gateway is not None:
        os.write(stderr, b"the test did not end by its time-out: Spark's JVM is killed\n")
        gateway.proc.kill()
