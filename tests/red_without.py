"""A pytest plugin for tests that must fail once a safeguard is taken away, and a table of how each of them did.

`@pytest.mark.red_without(NAME, WORDS)` on a test, or on one of its parameters, makes a second test of it: the same one,
run without the safeguard of that name (tests/rigs/safeguards.py). It passes where the first one's body fails, and says
WORDS (a pattern) in doing so: any other failure, and none, are a failure. What follows WORDS is handed on to the patch;
`{name}` in it is the test's parameter of that name.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests import tally
from tests.rigs.safeguards import SAFEGUARDS, Safeguard

MARK = "red_without"
MOST_SAID = 160
"""Characters of a failure that the table shows."""


@dataclass(frozen=True)
class Without:
    """A safeguard to be taken away, what the test is then to say, and what the patch is told besides."""

    name: str
    words: str
    more: tuple[str, ...]

    @property
    def safeguard(self) -> Safeguard:
        """What is taken away."""
        return SAFEGUARDS[self.name]

    @property
    def id(self) -> str:
        """The end of the test's name."""
        return f"without {' '.join((self.name, *self.more))}"


@dataclass(frozen=True)
class Red:
    """A test that failed without a safeguard, and the first line of what it said."""

    without: Without
    test: str
    said: str


Made = pytest.Item | pytest.Collector | list[pytest.Item | pytest.Collector] | None
WITHOUT, REDS = pytest.StashKey[Without](), pytest.StashKey[list[Red]]()


def pytest_configure(config: pytest.Config) -> None:
    """Nothing was red yet."""
    config.stash[REDS] = []


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Made, Made]:
    """Each marked test is followed by itself without the safeguard, before pytest counts, leaves out or moves any."""
    made = yield
    if not isinstance(made, list):
        return made
    return [each for item in made for each in (item, *_without(item))]


def _without(item: pytest.Item | pytest.Collector) -> Iterator[pytest.Item]:
    for mark in item.iter_markers(MARK):
        name, words, *more = mark.args
        if name not in SAFEGUARDS or not isinstance(item, pytest.Function):
            raise pytest.Collector.CollectError(
                f"{item.nodeid}: there is no safeguard '{name}'; see tests/rigs/safeguards.py"
            )
        yield _again(item, name, words, more)


def _again(item: pytest.Function, name: str, words: str, more: Sequence[str]) -> pytest.Item:
    """The same test by another name, with the parameters and fixtures of the first."""
    callspec = getattr(item, "callspec", None)
    told = tuple(each.format(**callspec.params) if callspec else each for each in more)
    without = Without(name, words, told)
    again = pytest.Function.from_parent(
        item.parent,
        name=f"{item.name}[{without.id}]",
        originalname=item.originalname,
        callspec=callspec,
        fixtureinfo=item._fixtureinfo,
    )
    again.stash[WITHOUT] = without
    # pytest makes the id, also that of the reports, of the function and its parameters alone.
    again._id = type(item.id).parse(f"{item.nodeid}[{without.id}]")
    return again


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run the body without the safeguard, where it is to be; its failure is what is wanted."""
    without = pyfuncitem.stash.get(WITHOUT, None)
    if without is None:
        return (yield)
    try:
        with without.safeguard.taken_away(*without.more):
            yield
    except (Exception, pytest.fail.Exception) as failure:
        said = pytest.ExceptionInfo.from_exception(failure).exconly()
        if not re.search(without.words, said):
            raise
        pyfuncitem.config.stash[REDS].append(Red(without, pyfuncitem.nodeid.removesuffix(f"[{without.id}]"), said))
        return True
    pytest.fail(f"it passes {without.id}, so it does not see whether that stands", pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a tally have the table."""
    reds = session.config.stash[REDS]
    session.config.stash[tally.REDS] = table(reds)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The check of the checks; `./kappa test` shows that of all its parts in one."""
    if (reds := config.stash[REDS]) and not config.getoption("--tally", None):
        terminalreporter.section("tests that went red with a safeguard taken away")
        for safeguard, lines in table(reds).items():
            for line in (safeguard, *lines):
                terminalreporter.line(line)


def table(reds: Sequence[Red]) -> dict[str, list[str]]:
    """By safeguard, what is in force without it and where it stands: the tests that went red, each with its parameters,
    and the first line that it said."""
    found = {}
    for name, safeguard in SAFEGUARDS.items():
        if mine := [red for red in reds if red.without.name == name]:
            found[f"{name}: {safeguard.patch} ({safeguard.place})"] = list(_lines(mine))
    return found


def _lines(reds: Sequence[Red]) -> Iterator[str]:
    for test in dict.fromkeys(red.test.partition("[")[0] for red in reds):
        cases = [red for red in reds if red.test.partition("[")[0] == test]
        ids = ", ".join(red.test.removeprefix(test).strip("[]") for red in cases)
        yield f"    {test}{ids and f'[{ids}]'}: {cases[0].said.splitlines()[0][:MOST_SAID]}"
