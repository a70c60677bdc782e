"""A pytest plugin that keeps in a file what a run has come to, so that who started it can say so at any moment.

`-p tests.tally --tally FILE`: how many tests there are, how each ended, and which one runs. A run that is asked to end
(TERM) ends as by Ctrl-C: what its fixtures have started is taken down.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

FAILED, SKIPPED, PASSED = "failed", "skipped", "passed"
REDS = pytest.StashKey[Mapping[str, Sequence[str]]]()
"""What went red without a safeguard, as tests/red_without.py tells it at the end of a run."""
MEASURED = pytest.StashKey[Sequence[str]]()
"""A table of what the tests of faults measured, as tests/measured.py tells it at the end of a run."""


class Tally:
    """What a run of pytest has come to; each test counts once, as failed if any of its phases did."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._outcomes: dict[str, str] = {}
        self._running: str | None = None
        self._since = time.time()
        self._selected = self._deselected = 0
        self._long_minutes = 0.0
        self._reds: Mapping[str, Sequence[str]] = {}
        self._measured: Sequence[str] = ()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Those that `-m` or `-k` left out."""
        self._deselected += len(items)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be read counts as a test that failed."""
        if report.failed:
            self._outcomes[report.nodeid] = FAILED

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """All that will run is known."""
        self._selected = len(session.items)
        self._long_minutes = sum(minutes(item) for item in session.items)
        self._write()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._running, self._since = nodeid, time.time()
        self._write()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test is over."""
        if report.failed:
            self._outcomes[report.nodeid] = FAILED
        elif report.skipped:
            self._outcomes.setdefault(report.nodeid, SKIPPED)
        elif report.when == "call":
            self._outcomes.setdefault(report.nodeid, PASSED)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """The run is over; where it was interrupted, the file goes on to name the test that ran."""
        self._reds = session.config.stash.get(REDS, {})
        self._measured = session.config.stash.get(MEASURED, ())
        if exitstatus != pytest.ExitCode.INTERRUPTED:
            self._running = None
        self._write()

    def _write(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._said()))
        new.replace(self._file)

    def _said(self) -> Mapping[str, object]:
        ended = list(self._outcomes.values())
        return {
            "selected": self._selected, "deselected": self._deselected, "passed": ended.count(PASSED),
            "skipped": ended.count(SKIPPED), "failed": [name for name, how in self._outcomes.items() if how == FAILED],
            "running": self._running, "since": self._since, "long_minutes": self._long_minutes,
            "reds": self._reds, "measured": self._measured,
        }  # fmt: skip


def minutes(item: pytest.Item) -> float:
    """What a test marked `long` is known to take; 0 for all others."""
    mark = item.get_closest_marker("long")
    if mark is None:
        return 0.0
    if "minutes" not in mark.kwargs:
        raise pytest.UsageError(f"{item.nodeid}: say how long it takes, as in pytest.mark.long(minutes=3)")
    return float(mark.kwargs["minutes"])


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that names the file."""
    parser.addoption("--tally", type=Path, help="Keep in this file what the run has come to.")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    if (file := config.getoption("--tally")) is not None:
        config.pluginmanager.register(Tally(file))
        signal.signal(signal.SIGTERM, signal.default_int_handler)
