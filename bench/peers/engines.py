"""The port behind which every engine is measured, and the engines that the bench starts itself: the peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.peers import tables
from bench.peers.expected import Rows, differences
from bench.peers.processes import Process
from kappa.core.installation.settings import Settings


@dataclass(frozen=True)
class Task:
    """Read the log from these offsets (partition -> offset) on; `folder`, empty, is the engine's to keep state in."""

    settings: Settings
    folder: Path
    starts: dict[int, int]


class Engine(Protocol):
    """Does the job of `ad_ctr` from the start to the stop: strict reading of records, late and future ones refused,
    each impression once, one click per user, ad and 10 s, counted per client, ad and minute."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The beginnings of the names of its process groups (bench.groups)."""

    @property
    def table(self) -> str:
        """Where readers find what it counts: client_id, ad_id, impressions, clicks."""

    @property
    def also(self) -> Mapping[str, str]:
        """Name of a row of figures -> another view that shows each event's client_id, and is timed beside `table`."""

    def prepare(self, settings: Settings) -> None:
        """Fetch and make what it needs, before anything is measured."""

    def start(self, task: Task) -> None:
        """Start all its processes; returns as soon as they are there."""

    def check(self) -> None:
        """Raises a Refusal where it has ended by itself."""

    def reading_ms(self) -> float | None:
        """When it took its first record, epoch ms."""

    def differences(self, task: Task, rows: Rows) -> int:
        """How many rows are not what the oracle says."""

    def kill(self) -> None:
        """kill -9 of the process that does the work; whoever supervises it starts it again at once."""

    def stop(self) -> None:
        """End all its processes."""


@dataclass
class Peer:
    """An engine whose processes the bench starts and supervises; `launch` starts them, the last is the one that works
    and is killed. `classpath` makes what it is started from."""

    name: str
    groups: tuple[str, ...]
    launch: Callable[[Task], Sequence[Process]]
    classpath: Callable[[Settings], object] = lambda _: None
    table: str = tables.NAME
    also: Mapping[str, str] = field(default_factory=dict)
    _processes: Sequence[Process] = field(default_factory=list)

    def prepare(self, settings: Settings) -> None:
        """Its jars and classes, if it has any."""
        self.classpath(settings)

    def start(self, task: Task) -> None:
        """Start all its processes on an empty table."""
        tables.make(task.settings)
        self._processes = self.launch(task)

    def check(self) -> None:
        """Raises PeerEnded."""
        for process in self._processes:
            process.check()

    def reading_ms(self) -> float | None:
        """As the working process printed it."""
        return self._processes[-1].reading_ms()

    def differences(self, task: Task, rows: Rows) -> int:
        """Of the whole table."""
        return len(differences(rows, tables.shown(task.settings)))

    def kill(self) -> None:
        """Kill it, and start it again as a supervisor would."""
        self._processes[-1].kill()
        self._processes[-1].start()

    def stop(self) -> None:
        """End them, the working one first."""
        for process in reversed(self._processes):
            process.stop()
        self._processes = []
