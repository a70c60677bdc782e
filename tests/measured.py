"""A pytest plugin for tests of faults: what each of them measured, in a table at the end of a run."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests import tally
from tests.red_without import WITHOUT
from tests.rigs.figures import RUNNING, Measured, table

DONE = pytest.StashKey[list[Measured]]()


def pytest_configure(config: pytest.Config) -> None:
    """Nothing was measured yet."""
    config.stash[DONE] = []


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """What a test measured counts once it has passed; nothing does that was measured without a safeguard."""
    faults = sorted({mark.args[0] for mark in pyfuncitem.iter_markers("fault")}, key=lambda fault: int(fault[1:]))
    if not faults or WITHOUT in pyfuncitem.stash:
        return (yield)
    one = Measured(faults, pyfuncitem.nodeid.removeprefix("tests/"))
    RUNNING.append(one)
    try:
        done = yield
    finally:
        RUNNING.remove(one)
    pyfuncitem.config.stash[DONE].append(one)
    return done


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a tally have the table."""
    session.config.stash[tally.MEASURED] = table(session.config.stash[DONE])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The table; `./kappa test` shows that of all its parts in one."""
    if (lines := table(config.stash[DONE])) and not config.getoption("--tally", None):
        terminalreporter.section("what the tests of faults measured")
        for line in lines:
            terminalreporter.line(line)
