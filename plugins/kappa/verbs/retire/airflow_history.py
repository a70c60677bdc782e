"""Remove from Airflow's own database what it has kept for long enough, by Airflow's own command, once a day."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from kappa.core.audit import Author, Entry
from kappa.core.environment import OWN_CODE
from kappa.core.spark_environment import search_path
from kappa.platform import Platform
from kappa.verbs.replay.validation import TAIL, surroundings

ACTION = "retire.airflow_history"
KEPT = timedelta(days=30)
PAUSE = timedelta(hours=20)
"""Airflow takes seconds to be imported: not every hour."""
SECONDS = 300.0
# Not `trigger`: its rows are as old as what they wait for, and the one that watches for incidents waits for ever.
# Not `dag`: after a month in which the stack was down, all of them would be too old.
TABLES = (
    "asset_event", "dag_run", "dag_version", "deadline", "import_error", "job", "log", "revoked_token",
    "task_instance", "task_instance_history", "task_reschedule", "xcom",
)  # fmt: skip
_ROWS = re.compile(r"Checking table (\w+)\s+Found (\d+) rows")


class HistoryKept(Exception):  # noqa: N818 - it is what happened
    """Airflow's command did not end well; worth another try."""

    def __init__(self, command: str, last_words: str) -> None:
        super().__init__(
            f"'airflow {command}' failed, so Airflow's database keeps what is older than {KEPT.days} days; nothing "
            f"else was touched, and the next run of retire_versions tries again. It said last: {last_words}"
        )


@dataclass(frozen=True)
class Said:
    """A command that has ended."""

    exit_code: int
    words: str


Runner = Callable[[list[str], Mapping[str, str]], Said]
"""Runs Airflow with some arguments in an environment."""


def clean(platform: Platform, by: Author, run: Runner | None = None) -> str:
    """Remove the runs, tasks, versions and events that are older than a month, at most once a day; the sentence, which
    the audit has with the rows of each table.

    Run again after a kill it does it all again, and begins with what Airflow had set aside for a clean-up that was cut
    short. Raises HistoryKept.
    """
    home, now = platform.settings.home / "airflow", platform.clock.now()
    mark = home / "cleaned"
    last = _last(mark)
    if last is not None and now - last < PAUSE:
        return f"Airflow's database was cleaned at {last:%Y-%m-%dT%H:%M:%SZ}; it is not yet time."
    environment, act = _environment(home), run or run_airflow
    _done(act, ["db", "drop-archived", "--yes"], environment)
    rows = _rows(_done(act, arguments(now - KEPT), environment))
    gone = sum(rows.values())
    sentence = f"removed {gone} rows of Airflow's that were older than {KEPT.days} days."
    if gone:
        platform.registry.record(Entry(by, ACTION, None, None, {"sentence": sentence, "rows": rows}))
    mark.write_text(now.isoformat())
    return sentence


def arguments(before: datetime) -> list[str]:
    """Airflow's arguments: nothing is set aside, a batch at a time, so that its scheduler never waits long."""
    command = ["db", "clean", "--clean-before-timestamp", before.isoformat(), "--tables", ",".join(TABLES)]
    return [*command, "--skip-archive", "--batch-size", "10000", "--error-on-cleanup-failure", "--yes"]


def run_airflow(arguments: list[str], environment: Mapping[str, str]) -> Said:
    """Airflow's command in a process of its own: a task may not talk to Airflow's database."""
    command = [sys.executable, "-m", "airflow", *arguments]
    try:
        done = subprocess.run(
            command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Said(-1, f"nothing: it was ended after {SECONDS:.0f} s")
    return Said(done.returncode, done.stdout)


def _environment(home: Path) -> dict[str, str]:
    paths = {"AIRFLOW_HOME": str(home), "PYTHONPATH": search_path(OWN_CODE)}
    return surroundings(os.environ) | paths


def _done(run: Runner, arguments: list[str], environment: Mapping[str, str]) -> str:
    said = run(arguments, environment)
    if said.exit_code:
        raise HistoryKept(" ".join(arguments[:2]), said.words[-TAIL:])
    return said.words


def _rows(words: str) -> dict[str, int]:
    """Rows by table, where there were any; Airflow tells them in its output only."""
    return {table: int(count) for table, count in _ROWS.findall(words) if int(count)}


def _last(mark: Path) -> datetime | None:
    """When it was done last; a mark that cannot be read is none."""
    try:
        return datetime.fromisoformat(mark.read_text())
    except (OSError, ValueError):
        return None
