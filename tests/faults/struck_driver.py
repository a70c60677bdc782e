"""Runs one driver's program, and strikes it once at a point of its batches: it, or the JVM that started it, is killed,
or it is stopped until somebody lets it go on."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Any

import psutil

from jobs import run
from jobs.sinks import ledger
from jobs.sinks.batch_sink import BatchSink

PID_FILE, BLOWS_FILE = "python.pid", "blows"


class Point(StrEnum):
    """Where a batch is: not begun; computed; written, not committed; committed, of which Spark knows nothing yet."""

    BEFORE = "before"
    COMPUTED = "computed"
    WRITTEN = "written"
    COMMITTED = "committed"


class Blow(StrEnum):
    """What strikes the driver."""

    KILL_PYTHON = "kill-python"
    KILL_JAVA = "kill-java"
    STOP = "stop"


WHERE: dict[Point, tuple[Any, str, bool]] = {
    Point.BEFORE: (BatchSink, "__call__", True),
    Point.COMPUTED: (BatchSink, "_write_once_told", True),
    Point.WRITTEN: (ledger, "_advance", False),
    Point.COMMITTED: (ledger, "write", False),
}
"""What is called there, and whether the blow comes before it rather than after."""


def arm(point: Point, blow: Blow, spared: int) -> None:
    """Have this process struck at the point of the batch after so many that are spared."""
    owner, name, comes_before = WHERE[point]
    whole: Callable[..., Any] = getattr(owner, name)
    batches = count()

    def armed(*given: Any, **named: Any) -> Any:
        is_due = next(batches) == spared
        if is_due and comes_before:
            strike(point, blow)
        result = whole(*given, **named)
        if is_due and not comes_before:
            strike(point, blow)
        return result

    setattr(owner, name, armed)


def strike(point: Point, blow: Blow) -> None:
    """The blow itself; who only lost its JVM goes on, as a driver does."""
    with Path(BLOWS_FILE).open("a") as file:  # what is logged passes through the JVM, and would be lost with it
        file.write(f"{blow} at {point}\n")
    if blow is Blow.KILL_JAVA:
        parent = psutil.Process(os.getppid())
        assert parent.name() == "java", "only a driver that a JVM has started can lose it"
        parent.kill()
    else:
        os.kill(os.getpid(), signal.SIGSTOP if blow is Blow.STOP else signal.SIGKILL)


def main() -> int:
    """The driver's own arguments after `--`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at", type=Point, required=True, choices=list(Point))
    parser.add_argument("--blow", type=Blow, required=True, choices=list(Blow))
    parser.add_argument("--spared", type=int, default=0)
    parser.add_argument("driver", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    Path(PID_FILE).write_text(str(os.getpid()))
    arm(arguments.at, arguments.blow, arguments.spared)
    sys.argv = ["run.py", *(word for word in arguments.driver if word != "--")]
    return run.main()


if __name__ == "__main__":
    sys.exit(main())
