"""The order of the tests and the limit of each, also where the run is shuffled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RIG, SECONDS, STACK, UNIT, _needs

pytest_plugins = ["pytester"]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from tests.conftest import pytest_collection_modifyitems
"""
MARKS = "integration, rig, long, fault = " + ", ".join(
    f"pytest.mark.{m}" for m in ("integration", "rig", "long", "fault")
)
BODY = f"""
import pytest
{MARKS}
@integration
def test_stack(): pass
@rig
def test_rig(): pass
def test_unit(): pass
@integration
@long(minutes=5)
def test_long(): pass
@pytest.mark.timeout(7)
def test_own(): pass
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_needs_less_runs_first_in_any_order(pytester: pytest.Pytester, seed: int) -> None:
    items = _collected(pytester, "--random-order", f"--random-order-seed={seed}")
    assert [_needs(item) for item in items] == [UNIT, UNIT, RIG, STACK, STACK]


def test_each_test_has_a_limit_of_its_kind_unless_it_has_one_of_its_own(pytester: pytest.Pytester) -> None:
    limits = {item.name: item.get_closest_marker("timeout") for item in _collected(pytester)}
    assert {name: mark and mark.args[0] for name, mark in limits.items()} == {
        "test_unit": SECONDS[UNIT], "test_own": 7, "test_rig": 120, "test_stack": SECONDS[STACK], "test_long": 900,
    }  # fmt: skip


def test_a_test_that_hangs_is_ended_and_the_next_one_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import time\ndef test_hangs(): time.sleep(30)\ndef test_next(): pass")
    pytester.runpytest_inprocess("--timeout=1").assert_outcomes(failed=1, passed=1)


def test_these_tests_have_limits(request: pytest.FixtureRequest) -> None:
    assert all(item.get_closest_marker("timeout") for item in request.session.items)


def _collected(pytester: pytest.Pytester, *options: str) -> list[pytest.Item]:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(BODY)
    recorder = Recorder()
    pytester.inline_run("--collect-only", *options, plugins=[recorder])
    return recorder.items


class Recorder:
    """A plugin that keeps the tests in the order in which they would run."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = list(session.items)
