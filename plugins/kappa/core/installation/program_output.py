"""What a program of Spark prints, kept within bounds: Spark appends it to files for as long as the program lives."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

NAMES = ("stdout", "stderr")
"""The files, in the program's working folder."""
MOST_BYTES = 10_000_000
HOUR_SECONDS = 3_600.0


def cut(file: Path, most: int) -> None:
    """Move the newest part of a program's output to `NAME.1` and empty the file.

    It is emptied, not replaced: Spark appends to the very same file for as long as the program lives. What is written
    between the copy and the cut is lost. Both keep the time of the last line: a cut makes no folder young.
    """
    earlier = file.with_name(f"{file.name}.1")
    part = earlier.with_suffix(".part")
    with suppress(FileNotFoundError):
        status = file.stat()
        with file.open("rb") as output, part.open("wb") as kept:
            output.seek(-min(most, output.seek(0, os.SEEK_END)), os.SEEK_END)
            shutil.copyfileobj(output, kept)
        part.replace(earlier)
        os.truncate(file, 0)
        for one in (earlier, file):
            os.utime(one, ns=(status.st_atime_ns, status.st_mtime_ns))


class OwnOutput:
    """The output of this process, in the folder that it works in: cut by itself, for on a host without Airflow nobody
    else does it."""

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self._folder, self._most, self._looked = folder, most, float("-inf")

    def look(self, at: float) -> None:
        """Cut what has grown too long, at most once an hour; `at` is in seconds of a clock that never goes back. A disk
        that does not take the copy is no reason to end: it is tried again in an hour."""
        if at - self._looked < HOUR_SECONDS:
            return
        self._looked = at
        for name in NAMES:
            with suppress(OSError):
                if (self._folder / name).stat().st_size > self._most:
                    cut(self._folder / name, self._most)
