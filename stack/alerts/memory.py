"""What the notifier remembers over a restart, in one file of the state folder: the book of incidents, the outbox, when
parts were started."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kappa.core.refusals import Refusal
from stack.alerts.incidents import Book
from stack.alerts.outbox import Outbox
from stack.alerts.part_restarts import Starts
from stack.exclusion import held

logger = logging.getLogger("kappa.alerts")


class NotifierRuns(Refusal):
    """Another process already tells about this installation."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"another monitor works on {folder}: two would tell everything twice. End that one first.")


@dataclass(frozen=True)
class Memory:
    """All that must outlive a restart, so that nothing is told twice."""

    book: Book = field(default_factory=Book)
    outbox: Outbox = ()
    starts: Starts = field(default_factory=dict)


class MemoryFile:
    """The file, 0600, replaced as a whole; a look at it takes no lock."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "alerts"
        self.file = self.folder / "incidents.json"
        self.lock = self.folder / "lock"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else may work on it meanwhile. Raises NotifierRuns."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with held(self.lock, NotifierRuns(self.folder)):
            yield

    @property
    def is_held(self) -> bool:
        """Whether a monitor works on it now."""
        try:
            with self.held():
                return False
        except NotifierRuns:
            return True

    def read(self) -> Memory:
        """What was remembered; nothing where there is no file, or one that cannot be read, which is put aside."""
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=Memory)
        except FileNotFoundError:
            return Memory()
        except (msgspec.DecodeError, ValueError):
            logger.exception("%s cannot be read: incidents that were open may be told again", self.file)
            self.file.replace(self.file.with_suffix(".damaged"))
            return Memory()

    def write(self, memory: Memory) -> None:
        """Remember it, on the disk. A full disk is no reason not to tell of it: it is logged, and the next write tries
        again."""
        new = self.file.with_suffix(".new")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(msgspec.json.encode(memory))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.file)
        except OSError as error:
            logger.warning("%s was not written (%s): after a restart incidents may be told twice", self.file, error)
