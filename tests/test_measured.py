"""What a test of a fault measured is told in a table, once it has passed, and nothing that it did not measure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.rigs.figures import Figure, of_verdict

pytest_plugins = ["pytester"]
HEAD = "import pytest\nfrom tests.rigs.figures import Figure, note\n"
Ran = Callable[[str], pytest.RunResult]


@pytest.fixture
def ran(pytester: pytest.Pytester) -> Ran:
    """A run of a file of tests."""
    pytester.makeconftest('pytest_plugins = ["tests.red_without", "tests.measured"]')

    def run(tests: str) -> pytest.RunResult:
        pytester.makepyfile(HEAD + tests)
        return pytester.runpytest_inprocess("-p", "no:randomly")

    return run


def test_the_largest_of_each_figure_counts_and_a_dash_stands_for_the_others(ran: Ran) -> None:
    done = ran(
        "@pytest.mark.fault('F10', 'seen')\n@pytest.mark.fault('F9', 'seen')\n"
        "def test_two():\n    note({Figure.ROWS: 0, Figure.RED: 2.25})\n"
        "    note({Figure.RED: 1, Figure.RECORDS: 1200})\n"
        "@pytest.mark.fault('F1', 'seen')\n@pytest.mark.parametrize('seed', [7], ids=['seed 7'])\n"
        "def test_one(seed):\n    note({Figure.RECOVERED: 12})\n"
    )
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines([
        "*what the tests of faults measured*",
        "| fault | test | records | without a fate | rows differ | by micros | recovered after s | red after s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| F1 | *::test_one[[]seed 7] | - | - | - | - | 12 | - |",
        "| F9, F10 | *::test_two | 1,200 | - | 0 | - | - | 2.2 |",
    ])  # fmt: skip


def test_nothing_is_told_of_a_test_that_failed_measured_nothing_or_is_of_no_fault(ran: Ran) -> None:
    done = ran(
        "@pytest.mark.fault('F1', 'seen')\ndef test_failed():\n    note({Figure.RED: 1})\n    assert False\n"
        "@pytest.mark.fault('F2', 'seen')\ndef test_silent(): pass\n"
        "def test_of_no_fault(): note({Figure.RED: 1})\n"
    )
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.no_fnmatch_line("| F*")


def test_of_a_verdict_rows_are_counted_once_and_the_largest_difference_in_micros_is_told() -> None:
    row = {"job": "ad_ctr", "view": "v", "key": "k"}
    spend = {**row, "column": "spend_micros", "expected": 7, "served": None}
    clicks = {**row, "column": "clicks", "expected": 90, "served": 1}
    across = {**spend, "job": "client_spend", "expected": 3, "served": 5}
    job = {"read": 10, "fates": {"counted": 6, "late": 1}, "differences": [spend, clicks]}
    assert of_verdict({"records": 12, "jobs": [job], "across": [across]}) == {
        Figure.RECORDS: 12, Figure.RESIDUAL: 3, Figure.ROWS: 2, Figure.MICROS: 7,
    }  # fmt: skip
