"""The order of the tests and the limit of each, also where the run is shuffled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import LAST, REPLAYS, RIG, SECONDS, STACK, UNIT, _needs

pytest_plugins = ["pytester"]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from tests.conftest import pytest_collection_modifyitems, pytest_itemcollected, pytest_report_collectionfinish
"""
KINDS = ("integration", "rig", "long", "fault", "last")
MARKS = f"{', '.join(KINDS)} = {', '.join(f'pytest.mark.{kind}' for kind in KINDS)}"
BODY = f"""
import pytest
{MARKS}
@pytest.fixture
def grown(): pass
@integration
@last
def test_last(grown): pass
@integration
def test_replays(grown): pass
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
    assert [_needs(item) for item in items] == [UNIT, UNIT, RIG, STACK, STACK, REPLAYS, LAST]


def test_a_shuffled_run_says_what_runs_its_order_again(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("def test_it(): pass")
    said = "--random-order-seed=7 runs them in this order again"
    pytester.runpytest_inprocess("-q", "--random-order-seed=7").stdout.fnmatch_lines([said])
    pytester.runpytest_inprocess("-q").stdout.no_fnmatch_line("*random-order-seed*")


def test_each_test_has_a_limit_of_its_kind_unless_it_has_one_of_its_own(pytester: pytest.Pytester) -> None:
    limits = {item.name: item.get_closest_marker("timeout") for item in _collected(pytester)}
    assert {name: mark and mark.args[0] for name, mark in limits.items()} == {
        "test_unit": SECONDS[UNIT], "test_own": 7, "test_rig": SECONDS[RIG],
        "test_stack": SECONDS[STACK], "test_long": 900,
        "test_replays": SECONDS[REPLAYS], "test_last": SECONDS[LAST],
    }  # fmt: skip


def test_a_test_that_hangs_is_ended_and_the_next_one_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import time\ndef test_hangs(): time.sleep(30)\ndef test_next(): pass")
    pytester.runpytest_inprocess("--timeout=1").assert_outcomes(failed=1, passed=1)


def test_a_long_test_without_its_minutes_ends_the_collection_also_of_a_run_without_long_ones(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(f"import pytest\n{MARKS}\n@rig\n@long\ndef test_it(): pass")
    ended = pytester.runpytest_inprocess("-m", "not long")
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    ended.stderr.fnmatch_lines(["*test_it: say how long it takes, as in pytest.mark.long(minutes=3)*"])


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
