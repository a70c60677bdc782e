"""One real stack for the whole run, on ports and folders of its own, beside a stack that may be running."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from bench.load import KNOBS
from kappa.core.installation.embedded import Ports
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings, load
from kappa.core.log.kafka_log import KafkaLog
from kappa.core.spark_environment import search_path
from stack import leftovers
from stack.down import down
from tests.rigs.figures import note, of_verdict
from tests.rigs.small_stack import free_ports

CHECKOUT = Path(__file__).resolve().parents[2]
KAPPA = (sys.executable, "-m", "cli.main")
JOBS = ("ad_ctr", "client_spend", "quarantine")
CLUSTER = "[cluster]\nworker_cores = 12\n"
SELDOM = '[releases]\nvalidate_cron = "0 0 1 1 *"\n'
"""Some tests alter what is served: a look at it in the middle of that would be red in other tests for an hour."""
ALLOWED_LATENESS_MS, CADENCE_MS = 300_000, 9_000
SETTINGS = (
    "--set",
    f"allowed_lateness_ms={ALLOWED_LATENESS_MS}",
    "--set",
    f"cadence_ms={CADENCE_MS}",
    "--set",
    "executor_cores=1",
)
"""What all jobs are deployed with: windows are final in minutes, so that a replay has something to compare; there is
room for candidates beside what is live, and for the other tests beside the stack."""
ON_EXECUTOR = "client_spend"
"""The job whose work an executor does."""
IN_THEIR_DRIVERS = tuple(job for job in JOBS if job != ON_EXECUTOR)
"""Those whose work is done in their driver's process, as by default."""
SPAN = "3m"
"""Of event times, of traffic at full speed: less than the allowed lateness."""
RECONCILIATIONS = 3
"""The records around T come in two goes, so that at most two of them are overtaken."""
COMPILERS = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""No JVM of a test runs for long enough for the second compiler to pay for itself."""
START_SECONDS = 900
"""For `up`, which has limits of its own for each part."""
KEPT_LOGS = ("logs", "spark", "airflow/logs", "validations")


@dataclass(frozen=True)
class Command:
    """What a command did."""

    exit_code: int
    out: str
    err: str


@dataclass(frozen=True)
class Stack:
    """A running stack and the commands on it."""

    settings: Settings

    def kappa(self, *arguments: str, expect: int | None = 0, timeout: float = 600) -> Command:
        """Run a command as a user would; fails the test unless it ends with `expect`."""
        ran = subprocess.run(
            [*KAPPA, *arguments], cwd=CHECKOUT, env=environment(self.settings),
            capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if expect is not None and ran.returncode != expect:
            pytest.fail(f"kappa {' '.join(arguments)}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}")
        return Command(ran.returncode, ran.stdout, ran.stderr)

    def query(self, statement: str, *values: Any, role: str = "kappa_operator") -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        with psycopg.connect(self.settings.dsn(role), autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def produce(self, seed: int, records: int, *options: str) -> None:
        """Play synthetic traffic that has something of everything."""
        knobs = [word for name, part in vars(KNOBS).items() for word in (f"--{name.replace('_', '-')}", str(part))]
        size = ("--seed", str(seed), "--records", str(records), "--span", SPAN)
        self.kappa("produce", "--source", "synthetic", *size, *knobs, *options)

    def reconcile(self) -> dict[str, Any]:
        """What the oracle says, as of all jobs having read the log; fails the test at any difference.

        Asked again where a record came after the jobs were waited for: those around T come in their own time.
        """
        for _ in range(RECONCILIATIONS):
            told = self.kappa("reconcile", "--json", "--wait", "300", expect=None, timeout=900)
            verdict: dict[str, Any] = json.loads(told.out)
            note(of_verdict(verdict))
            assert told.exit_code == 0, f"{verdict['difference_count']} differences\n{told.out[:6000]}"
            if all(job["unread"] == 0 for job in verdict["jobs"]):
                return verdict
        pytest.fail("the jobs did not reach the end of the log")

    def drivers(self, job: str) -> list[psutil.Process]:
        """The Python processes that run a job's driver."""
        return [p for p in leftovers.marked(self.settings.home) if _is_driver(p, job)]

    def until(self, what: str, holds: Callable[[], bool], seconds: float = 240) -> None:
        """Wait for something; fails the test with its name."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {seconds:.0f} s: {what}")
            time.sleep(0.3)


@dataclass(frozen=True)
class Starting:
    """A stack that a process of its own starts, so that no test that patches this one can meddle with it."""

    settings: Settings
    process: subprocess.Popen[bytes]
    log: Path

    def stack(self) -> Stack:
        """The stack, proven to be the one that was started before anything is written (T0); fails the test if it did
        not start."""
        if self.process.wait(START_SECONDS):
            pytest.fail(f"the stack did not start:\n{self.log.read_text()}")
        stack = Stack(self.settings)
        _prove_it_is_ours(stack)
        return stack


@contextmanager
def starting() -> Iterator[Starting]:
    """A stack with an empty log that starts while the body runs; gone after it."""
    folder = Path(tempfile.mkdtemp(prefix="kappa-test-"))
    folder.chmod(0o755)
    (folder / "kappa.toml").write_text(_toml())
    settings, log = load(folder / "state"), folder / "up.log"
    with log.open("wb") as lines:
        begun = subprocess.Popen(
            [*KAPPA, "up"], cwd=CHECKOUT, env=environment(settings),
            stdin=subprocess.DEVNULL, stdout=lines, stderr=lines,
        )  # fmt: skip
    try:
        yield Starting(settings, begun, log)
    finally:
        begun.terminate()
        begun.wait(START_SECONDS)
        down(settings, CHECKOUT, print)
        _keep_logs(settings)
        shutil.rmtree(folder, ignore_errors=True)


def environment(settings: Settings) -> dict[str, str]:
    """Of a process that works for the stack."""
    return {**os.environ, **COMPILERS, "KAPPA_HOME": str(settings.home), "PYTHONPATH": search_path(CHECKOUT)}


def _keep_logs(settings: Settings) -> None:
    """Copy the logs to where KAPPA_KEEP_LOGS says, a folder for each stack, to look into a failure."""
    if folder := os.environ.get("KAPPA_KEEP_LOGS"):
        for name in filter(lambda name: (settings.home / name).exists(), KEPT_LOGS):
            kept = Path(folder) / settings.home.parent.name / name
            shutil.copytree(settings.home / name, kept, dirs_exist_ok=True, ignore_dangling_symlinks=True)


def _toml() -> str:
    names = [field.name for field in fields(Ports)]
    ports = "\n".join(f"{name} = {port}" for name, port in zip(names, free_ports(len(names)), strict=True))
    return f"[ports]\n{ports}\n{CLUSTER}{SELDOM}"


def _prove_it_is_ours(running: Stack) -> None:
    folder = Path(running.query("show data_directory", role="postgres")[0][0])
    assert folder.is_relative_to(running.settings.home), "another Postgres answers on the test's port"
    with KafkaLog(running.settings.kafka_access(KafkaUser.CONTROL), running.settings.topic.name) as log:
        assert set(log.ends().values()) == {0}, "another broker answers on the test's port, or the log is not empty"


def _is_driver(process: psutil.Process, job: str) -> bool:
    try:
        line = process.cmdline()
        return "python" in process.name() and any(a.endswith("jobs/run.py") for a in line) and job in line
    except psutil.Error:
        return False
