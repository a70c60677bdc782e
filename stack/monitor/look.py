"""One look at the whole installation, whatever of it is away, and the newest one for all who ask."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kappa.core.installation.no_registry import NoRegistry
from kappa.core.installation.settings import Settings
from stack.layout import Layout
from stack.monitor import registry
from stack.monitor.registry import Registry, Row
from stack.services import kafka, postgres
from stack.status import outages
from stack.status.outages import DoesNotAnswer
from stack.status.overview import of_stack
from stack.supervision import Process

LOOK_SECONDS = 5.0
"""A look is good for so long."""


@dataclass(frozen=True)
class Disk:
    """The disk that the state folder is on, in bytes."""

    free: int = 0
    size: int = 0


@dataclass(frozen=True)
class Look:
    """What was there at `at` (epoch seconds). `away` names the parts that gave no answer; `registry` is None where it
    could not be read, `red` are all red lines, those of the stack first. By `clock_ahead_seconds` the database's clock
    is ahead of this machine's."""

    at: float
    processes: list[Process] = field(default_factory=list)
    away: frozenset[str] = frozenset()
    registry: Registry | None = None
    red: list[Row] = field(default_factory=list)
    disk: Disk = Disk()
    took_seconds: float = 0.0
    clock_ahead_seconds: float | None = None


def look(settings: Settings, checkout: Path, seconds: float = outages.BOUND_SECONDS) -> Look:
    """Ask everybody, each for so many seconds at most. Nothing that is away makes it fail."""
    at, begun = time.time(), time.monotonic()
    of_broker = outages.ask_broker(settings, seconds)
    processes, problems = outages.ask_supervisor(Layout(settings, checkout), seconds)
    found: Registry | None = None
    try:
        with outages.reading(settings, "kappa_operator", seconds) as connection:
            found = registry.read(connection, settings.topic.retention_hours)
    except (DoesNotAnswer, NoRegistry) as problem:
        problems.append(problem)
    took = time.monotonic() - begun
    if silent := of_broker():
        problems.append(silent)
    away = frozenset(problem.part for problem in problems if isinstance(problem, DoesNotAnswer))
    red = [*of_stack(processes, problems, settings.is_embedded), *(found.red if found else ())]
    ahead = found.clock - at - took if found else None
    return Look(at, processes, away, found, red, disk(settings.home), took, ahead)


def disk(folder: Path) -> Disk:
    """The disk of a folder that is there."""
    usage = shutil.disk_usage(folder)
    return Disk(usage.free, usage.total)


class Looks:
    """The newest look: one at a time, and whoever asks meanwhile gets the one under way."""

    def __init__(self, look: Callable[[], Look], clock: Callable[[], float] = time.monotonic) -> None:
        self._look, self._clock = look, clock
        self._turn = threading.Lock()
        self._held: tuple[Look, float] | None = None

    def newest(self) -> Look:
        """A look that is not older than LOOK_SECONDS."""
        with self._turn:
            if self._held is None or self._clock() - self._held[1] >= LOOK_SECONDS:
                self._held = (self._look(), self._clock())
            return self._held[0]


PARTS = (postgres.NAME, kafka.NAME)
"""The parts that streams need, and that a look asks."""
