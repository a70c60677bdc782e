"""A test that its time-out cannot end, for something else is waited for meanwhile, ends all the same."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]
CONFTEST = """
import subprocess
from types import SimpleNamespace
from pyspark import SparkContext
from tests import hung
hung.SPARK_ENDS_SECONDS, hung.PYTEST_ENDS_SECONDS = 0.5, 3
pytest_plugins = ["tests.hung"]
SparkContext._gateway = SimpleNamespace(proc=subprocess.Popen(["sleep", "60"]))
"""
HANGS = """
import time
import pytest
from pyspark import SparkContext

@pytest.mark.timeout(1, func_only=True)
def test_hangs():
    try:
        time.sleep(60)
    finally:
        {waits}

def test_next(): pass
"""


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> pytest.Pytester:
    """With a JVM that is waited for, and limits of moments."""
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    pytester.makeconftest(CONFTEST)
    return pytester


def test_what_waits_for_spark_ends_with_its_jvm_and_the_next_test_runs(project: pytest.Pytester) -> None:
    project.makepyfile(HANGS.format(waits="SparkContext._gateway.proc.wait()"))
    ended = project.runpytest_subprocess(timeout=30)
    ended.assert_outcomes(failed=1, passed=1)
    ended.stderr.fnmatch_lines(["*in test_hangs", "*Spark's JVM is killed"])


def test_what_waits_for_anything_else_ends_the_run_and_says_where_it_stood(project: pytest.Pytester) -> None:
    project.makepyfile(HANGS.format(waits="time.sleep(60)"))
    ended = project.runpytest_subprocess(timeout=30)
    assert ended.ret == 1
    ended.stderr.fnmatch_lines(["Timeout (*)!", "*in test_hangs"])
    ended.stdout.no_fnmatch_line("*passed*")
