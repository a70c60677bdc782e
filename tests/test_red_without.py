"""A safeguard is taken away for the body of one test only, and that test must fail by the words that it names."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.suite import Count
from jobs.driver import watermark
from tests.faults import uneven_backlog
from tests.faults.marks import Tier, marked
from tests.red_without import MARK
from tests.rigs.safeguards import SAFEGUARDS, Safeguard, SafeguardMoved

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[1]
NAMED = Safeguard("jobs.driver.batch_sizing:begin", "it gives a number", lambda _there, number="0": lambda: int(number))
HEAD = (
    "import pytest\nfrom jobs.driver import batch_sizing\nBEGIN = batch_sizing.begin\n"
    '@pytest.mark.parametrize("x", [1, 2])'
)
Ran = Callable[..., pytest.RunResult]


@pytest.fixture
def ran(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """A run of two tests with that mark and body; the safeguard `named` is batch_sizing.begin, known as BEGIN."""
    monkeypatch.setitem(SAFEGUARDS, "named", NAMED)
    pytester.makeconftest('pytest_plugins = ["tests.red_without"]')

    def run(mark: str, body: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(f"{HEAD}\n@pytest.mark.{MARK}({mark})\ndef test_it(x): {body}")
        return pytester.runpytest_inprocess(*options)

    return run


def test_a_test_that_fails_by_its_words_without_the_safeguard_passes_and_is_told(ran: Ran) -> None:
    done = ran("'named', 'it is [12]', '{x}'", "assert batch_sizing.begin is BEGIN, f'it is {batch_sizing.begin()}'")
    done.assert_outcomes(passed=4)
    done.stdout.fnmatch_lines([
        "*tests that went red*", "named: it gives a number (jobs.driver.batch_sizing:begin)",
        "    *::test_it[[]1, 2]: AssertionError: it is 1",
    ])  # fmt: skip


def test_a_test_that_fails_for_another_reason_is_a_failure(ran: Ran) -> None:
    done = ran("'named', 'it is 7'", "assert batch_sizing.begin is BEGIN, f'it is {batch_sizing.begin()}'")
    done.assert_outcomes(failed=2, passed=2)
    done.stdout.fnmatch_lines(["E*AssertionError: it is 0"])


def test_a_test_that_passes_all_the_same_is_a_failure(ran: Ran) -> None:
    done = ran("'named', ''", "pass")
    done.assert_outcomes(failed=2, passed=2)
    done.stdout.fnmatch_lines(["*it passes without named, so it does not see whether that stands"])
    done.stdout.no_fnmatch_line("*tests that went red*")


def test_pytest_counts_both(ran: Ran) -> None:
    done = ran("'named', ''", "pass", "-k", "named")
    done.stdout.fnmatch_lines(["collected 4 items / 2 deselected / 2 selected"])


def test_a_safeguard_that_does_not_exist_ends_the_run(ran: Ran) -> None:
    done = ran("'other', ''", "pass")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(["*::test_it*: there is no safeguard 'other'; see tests/rigs/safeguards.py"])


@pytest.mark.parametrize(
    "place",
    [
        "jobs.nowhere:x",
        "jobs.driver.watermark:x",
        "jobs.driver.watermark:Reach.x",
        "jobs.driver.watermark:X.x",
        "jobs.driver.query_loop:DriverRegistry.x",
    ],
)
def test_a_patch_that_does_not_fit_any_more_is_refused(place: str) -> None:
    with pytest.raises(SafeguardMoved, match=f"there is no {place}"), Safeguard(place, "", lambda _: None).taken_away():
        pytest.fail("it was taken away")


def test_a_safeguard_stands_again_afterwards() -> None:
    there = watermark.check_watermark
    with ExitStack() as taken:
        taken.enter_context(SAFEGUARDS["guard"].taken_away())
        assert watermark.check_watermark is not there
    assert watermark.check_watermark is there


def test_each_safeguard_has_a_test_that_must_go_red_without_it() -> None:
    proved = {name for file in (ROOT / "tests").rglob("test_*.py") for name in _named(file)}
    assert proved == set(SAFEGUARDS), f"mark a test with @pytest.mark.{MARK}(name, words)"


def test_the_benches_leave_out_what_is_in_the_table() -> None:
    assert {name for names in uneven_backlog.RUNS.values() for name in names} <= set(SAFEGUARDS)


def _named(file: Path) -> set[str]:
    """The safeguards that a file's marks name, on tests that run each time."""
    text = file.read_text()
    if f"mark.{MARK}(" not in text or file == Path(__file__):
        return set()
    found = marked(ast.parse(text), file.name, MARK)
    return {ast.literal_eval(call.args[0]) for _, call, tier in found if tier in (Tier.UNIT, Tier.RIG)}


def test_every_test_of_a_run_has_a_node_id_of_its_own(request: pytest.FixtureRequest) -> None:
    """Whoever counts tests counts node ids."""
    ids = Counter(item.nodeid for item in request.session.items)
    assert [name for name, count in ids.items() if count > 1] == []


def test_a_test_without_its_safeguard_is_named_so(ran: Ran, pytester: pytest.Pytester) -> None:
    ran("'named', 'it is [12]', '{x}'", "assert batch_sizing.begin is BEGIN, f'it is {batch_sizing.begin()}'")
    listed = pytester.runpytest_inprocess("--collect-only", "-q").outlines
    assert [line.partition("::")[2] for line in listed if "::" in line] == [
        "test_it[1]", "test_it[1][without named 1]", "test_it[2]", "test_it[2][without named 2]",
    ]  # fmt: skip


def test_both_are_counted(ran: Ran, pytester: pytest.Pytester) -> None:
    ran("'named', 'it is [12]', '{x}'", "assert batch_sizing.begin is BEGIN, f'it is {batch_sizing.begin()}'")
    pytester.runpytest_inprocess("-p", "tests.tally", "--tally", "tally.json").assert_outcomes(passed=4)
    count = Count.read(pytester.path / "tally.json")
    assert count is not None
    assert (count.selected, count.passed, count.ended) == (4, 4, 4)
