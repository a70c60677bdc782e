"""A real driver's process in a test: started as the cluster does, struck at a point of its batches, and seen to end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from stack.waiting import until
from tests.faults import struck_driver
from tests.faults.struck_driver import PID_FILE, Blow, Point
from tests.rigs.case import Case
from tests.rigs.program import PATIENCE_SECONDS
from tests.rigs.staged_driver import Staged


@dataclass(frozen=True)
class Submitted:
    """A JVM, whose child is the driver's Python program."""

    staged: Staged
    jvm: subprocess.Popen[bytes]

    @property
    def python(self) -> int | None:
        """The program's process, once it has begun."""
        file = self.staged.folder / PID_FILE
        return int(text) if file.exists() and (text := file.read_text()) else None

    @property
    def said(self) -> str:
        """What this driver, and those before it in its folder, have said."""
        return self.staged.log.read_text(errors="replace")

    @property
    def has_ended(self) -> bool:
        """Whether the JVM has."""
        return self.jvm.poll() is not None

    def await_stopped(self) -> None:
        """Wait until the program is stopped; fails the test if it is not."""
        assert until(lambda: self._is(psutil.STATUS_STOPPED) or self.has_ended, PATIENCE_SECONDS), self.said[-4_000:]
        assert self._is(psutil.STATUS_STOPPED), self.said[-4_000:]

    def resume(self) -> None:
        """Let the program go on."""
        assert self.python is not None
        psutil.Process(self.python).send_signal(signal.SIGCONT)

    def await_end(self) -> int:
        """Wait for the JVM's end, and tell how it ended; fails the test if it does not."""
        assert until(lambda: self.has_ended, PATIENCE_SECONDS), self.said[-4_000:]
        return int(self.jvm.wait(PATIENCE_SECONDS))

    def await_gone(self) -> None:
        """Wait until its program has ended, too, which outlives its JVM for a moment."""
        pid = self.python
        assert pid is None or until(lambda: not psutil.pid_exists(pid), PATIENCE_SECONDS), self.said[-4_000:]

    def kill(self) -> None:
        """End what is left of it."""
        kill(self.jvm, self.python)

    def _is(self, status: str) -> bool:
        with suppress(psutil.NoSuchProcess):
            return self.python is not None and psutil.Process(self.python).status() == status
        return False


def kill(driver: subprocess.Popen[bytes], orphan: int | None = None) -> int:
    """kill -9 of a driver's process, of all that it has started, and of one that may have outlived it; how many there
    were."""
    found: list[psutil.Process] = []
    for pid in (driver.pid if driver.poll() is None else None, orphan):
        with suppress(psutil.NoSuchProcess):
            found += _family(psutil.Process(pid)) if pid else []
    for each in found:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    driver.wait(PATIENCE_SECONDS)
    return len(set(found))


def _family(top: psutil.Process) -> list[psutil.Process]:
    return [top, *top.children(recursive=True)]


@contextmanager
def submitted(staged: Staged, point: Point, blow: Blow, spared: int = 0) -> Iterator[Submitted]:
    """A driver that is struck at this point of the batch after those that are spared; killed after the body."""
    (staged.folder / PID_FILE).unlink(missing_ok=True)
    options = ("--at", point, "--blow", blow, "--spared", str(spared), "--")
    driver = Submitted(staged, staged.submit(Path(struck_driver.__file__), options))
    try:
        yield driver
    finally:
        driver.kill()


def beating_since(case: Case, minutes: int) -> None:
    """The claim is so old, and the driver's heartbeat is of now."""
    case.query("update registry.launch set claimed_at = clock_timestamp() - make_interval(mins => %s)", minutes)
    case.query(
        "insert into registry.heartbeat (job, version, epoch, beat_at, driver_pid, submission_id, generation) "
        "select job, version, 1, clock_timestamp() + interval '1 minute', 7, 'driver-1', 1 from registry.job_version"
    )
