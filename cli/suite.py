"""The parts of the test suite: where their tests lie, and each as a process, with its own output, all ended
together."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

import psutil

PATIENCE_SECONDS = 150
"""How long an interrupted part may take to clean up: pytest takes down the stack that it had started."""
MEMORY = Path("/dev/shm")
WRITTEN_BYTES, WORKING_BYTES = 6 << 30, 13 << 30
"""What the tests that are not long have on the disk at one time, half as much again as was seen, and what their
processes take beside it."""

PLACES = {
    "faults": ("tests/faults",),
    "stack": (
        "tests/integration",
        "tests/stack/test_wipe.py",
        "tests/cli/test_job_detail.py",
        "tests/cli/commands/test_audit_command.py",
    ),
}
"""Where all tests of a part lie, of which the others need not be read: half a minute sooner the stack is begun."""
WORDS = {"servers": r"\brig\b", "rigs": r"\b(rig|spark): |mark\.spark\b"}
"""What each file with tests of a part says somewhere, so that the others need not be read: they import Airflow and what
else takes seconds. The first is the mark, the second a fixture; tests/conftest.py refuses a test whose file is silent.
"""


@dataclass(frozen=True)
class Step:
    """One program of a part."""

    name: str
    command: Sequence[str]


@dataclass(frozen=True)
class Part:
    """Steps that run one after the other, also after one that failed. `counts`: its one step is a pytest that keeps a
    tally. `live`: its output is shown as it comes, not when it ends."""

    name: str
    steps: Sequence[Step]
    counts: bool = False
    live: bool = False


@dataclass(frozen=True)
class Count:
    """What a pytest has come to, as tests/tally.py writes it down. `reds`: the tests that failed, as they must, without
    a safeguard, as lines under a line of the safeguard; `measured`: the lines of a table of what
    tests of faults measured, two for its head."""

    selected: int = 0
    deselected: int = 0
    passed: int = 0
    skipped: int = 0
    failed: Sequence[str] = ()
    running: str | None = None
    since: float = 0.0
    long_minutes: float = 0.0
    reds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    measured: Sequence[str] = ()

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """What the file says; None as long as pytest has not collected its tests."""
        try:
            said: Mapping[str, Any] = json.loads(file.read_text())
        except OSError:
            return None
        return cls(**said)

    @property
    def ended(self) -> int:
        """How many tests are over."""
        return self.passed + self.skipped + len(self.failed)


@dataclass
class Run:
    """A part at work on a thread, in a process group of its own: `codes` are the exit codes of the steps so far, and
    `files` is where its programs put what is temporary (None: where this one would)."""

    part: Part
    folder: Path
    checkout: Path
    files: Path | None = None
    codes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    _begun: float = field(default_factory=time.monotonic)
    _process: subprocess.Popen[bytes] | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._work, name=self.part.name, daemon=True)
        self._thread.start()

    @property
    def output(self) -> Path:
        """What its programs wrote, in order."""
        return self.folder / f"{self.part.name}.log"

    @property
    def tally(self) -> Path:
        """Where its pytest keeps its count."""
        return self.folder / f"{self.part.name}.json"

    @property
    def count(self) -> Count | None:
        """What its pytest has come to; None without one, or before it has begun."""
        return Count.read(self.tally) if self.part.counts else None

    @property
    def working(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    def faults(self) -> list[str]:
        """Everything that is not as it should be, once it is over: failed tests by name, steps by their exit code."""
        count = self.count
        if count is not None and count.failed:
            return list(count.failed)
        last = f", while {count.running} ran" if count and count.running else ""
        wrong = [f"{self.part.name}: {name}: {what}{last}" for name, what in self._wrong(count).items()]
        empty = self.part.counts and (count is None or count.passed == 0) and not last
        return [f"{self.part.name}: no test was executed"] if empty else wrong

    def _wrong(self, count: Count | None) -> dict[str, str]:
        """Steps that did not end as they should, and how; of a pytest not by its exit code alone."""
        how = {step.name: "was not run" for step in self.part.steps if step.name not in self.codes}
        how |= {name: f"exit code {code}" for name, code in self.codes.items() if code}
        if count is not None and count.ended < count.selected:
            how = {step.name: "ended before its last test" for step in self.part.steps} | how
        return how

    def interrupt(self) -> None:
        """Ask it to end; it takes down first what it had started."""
        self._stopping.set()
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGTERM)

    def finish(self, deadline: float) -> None:
        """Wait for its end; kill what is left of its process group when the time is over (monotonic seconds)."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._thread.join()

    def _work(self) -> None:
        given = {} if self.files is None else {"TMPDIR": str(self.files)}
        with self.output.open("wb") as output:
            for step in self.part.steps:
                if self._stopping.is_set():
                    break
                where = None if self.part.live else output
                self._process = subprocess.Popen(
                    step.command, cwd=self.checkout, env={**os.environ, **given}, stdin=subprocess.DEVNULL,
                    stdout=where, stderr=None if where is None else subprocess.STDOUT, process_group=0,
                )  # fmt: skip
                if self._stopping.is_set():
                    self.interrupt()
                self.codes[step.name] = self._process.wait()
        self.seconds = time.monotonic() - self._begun


def places(part: str, checkout: Path) -> Sequence[str]:
    """The files and folders that a part's pytest reads, as seen from the checkout; empty: all that there are."""
    if part not in WORDS:
        return PLACES.get(part, ())
    files = sorted((checkout / "tests").rglob("test_*.py"))
    return [str(file.relative_to(checkout)) for file in files if is_read(part, file)]


@cache
def is_read(part: str, file: Path) -> bool:
    """Whether a part that goes by WORDS reads a file of tests."""
    return re.search(WORDS[part], file.read_text()) is not None


def end(runs: Sequence[Run], patience: float = PATIENCE_SECONDS) -> None:
    """End all of them at once, each by its own process id, and wait until nothing is left."""
    for run in runs:
        run.interrupt()
    deadline = time.monotonic() + patience
    for run in runs:
        run.finish(deadline)


def memory_for_files(where: Path = MEMORY) -> Path | None:
    """A file system in memory that can hold what the tests write; None without one.

    On a disk a broker, a database and checkpoints wait at each write, and a hundred thousand small files are made,
    whose removal falls on a later run (docs/decisions/0082).
    """
    try:
        room = os.statvfs(where)
    except OSError:
        return None
    kinds = {partition.mountpoint: partition.fstype for partition in psutil.disk_partitions(all=True)}
    free, runs = room.f_bavail * room.f_frsize, not room.f_flag & os.ST_NOEXEC
    return where if holds_files(kinds.get(str(where)), runs, free, psutil.virtual_memory().available) else None


def holds_files(kind: str | None, runs: bool, free_bytes: int, memory_bytes: int) -> bool:
    """Whether a file system of a kind, from which programs may be run or not, has room for the tests' files, and the
    machine memory for these and for what works on them."""
    fits = free_bytes >= WRITTEN_BYTES and memory_bytes >= WRITTEN_BYTES + WORKING_BYTES
    return kind == "tmpfs" and runs and fits
