"""A small stack whose broker's clock can be moved: libfaketime in its JVM."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kappa.core.refusals import Refusal
from stack.layout import Layout
from tests.rigs.small_stack import small_stack

FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
LIBRARIES = ("libfaketimeMT.so.1", "libfaketime.so.1")
"""The first is made for threads: the other one's threads share the buffer that the offset is read into."""

_ONLY_WALL_CLOCK = {"FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}


class NoFaketime(Refusal):
    """libfaketime is not installed."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(
            f"{LIBRARIES[0]} was not found below {', '.join(FOLDERS)}. Install it (on Debian and Ubuntu: apt install "
            "faketime) or name it with --library; nothing was started."
        )


@dataclass(frozen=True)
class BrokerClock:
    """The file that libfaketime reads at each question for the time: an offset in seconds."""

    file: Path

    def set_behind(self, seconds: int) -> None:
        """From now on the broker's clock goes `seconds` behind this machine's; the file is replaced whole."""
        new = self.file.with_suffix(".new")
        new.write_text(f"-{seconds}\n" if seconds else "+0\n")
        new.replace(self.file)


def library(given: Path | None) -> Path:
    """The library to preload. Raises NoFaketime."""
    if given is not None:
        found = [given.absolute()] if given.is_file() else []
    else:
        found = [file for name in LIBRARIES for folder in FOLDERS for file in _within(folder, name)]
    if not found:
        raise NoFaketime
    return found[0]


def _within(folder: str, name: str) -> list[Path]:
    """Directly below, or below the folder of an architecture."""
    return [file for pattern in ("faketime", "*/faketime") for file in Path(folder).glob(f"{pattern}/{name}")]


def preload(to_load: Path, clock: BrokerClock) -> dict[str, str]:
    """The environment that moves a JVM's clock: wall clock only, since its waits go by the monotonic one."""
    return {**_ONLY_WALL_CLOCK, "LD_PRELOAD": str(to_load), "FAKETIME_TIMESTAMP_FILE": str(clock.file)}


def ahead(to_load: Path, seconds: int) -> dict[str, str]:
    """The environment in which a program's wall clock goes so many seconds ahead as long as it runs."""
    return {**_ONLY_WALL_CLOCK, "LD_PRELOAD": str(to_load), "FAKETIME": f"{seconds:+d}s"}


@contextmanager
def moved_stack(
    to_load: Path, partitions: int, behind_seconds: int, keep: bool
) -> Iterator[tuple[Layout, BrokerClock]]:
    """Kafka with its clock `behind_seconds` behind, and Postgres with the schema; ended and, unless kept, deleted."""
    folder = Path(tempfile.mkdtemp(prefix="kappa-clock-"))
    folder.chmod(0o755)
    clock = BrokerClock(folder / "clock")
    clock.set_behind(behind_seconds)
    try:
        with small_stack(partitions, preload(to_load, clock), keep) as layout:
            yield layout, clock
    finally:
        shutil.rmtree(folder, ignore_errors=True)
