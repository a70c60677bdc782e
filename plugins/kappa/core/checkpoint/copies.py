"""Copies of checkpoint folders: of one that a running query goes on writing to, completed once nobody does."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from kappa.core.checkpoint.reader import Checkpoint

# What a running query adds in the order offsets, state, commits is copied the other way round: each copied commit then
# finds its offsets and its state, whatever is added meanwhile.
_RUNNING_ORDER = ("commits", "offsets", "state")
# Files of the state that are written once and never again. Spark gives each its own name, or a new one by a rename.
_WRITTEN_ONCE = (".sst", ".zip", ".changelog", ".delta", ".snapshot")
_STATE_VERSION = re.compile(r"^\.?(\d+)(?:_[^.]+)?\.(?:zip|changelog|delta|snapshot)(?:\.crc)?$")


def copy_running(source: Path, target: Path) -> None:
    """Copy a checkpoint that a query writes to, as of its newest batch committed when this began. Raises OSError.

    The copy holds no batch that was planned and not committed. Of a query that never ran it is an empty folder.
    """

    def fill(part: Path) -> None:
        part.mkdir(parents=True)
        others = sorted({f.name for f in source.iterdir()} - set(_RUNNING_ORDER)) if source.is_dir() else []
        for name in (*_RUNNING_ORDER, *others):
            _copy(source / name, part / name)
        drop_beyond(part, Checkpoint(part).newest_committed())

    _replace(target, fill)


def complete(source: Path, target: Path) -> None:
    """Make the copy of a checkpoint equal to it, now that nobody writes to it; temporary files are left out.

    A file of the state that the copy holds already, with its length and its time of change, is not copied again: most
    are never written a second time. `target` need not be there; after an OSError it is of no use. Raises OSError.
    """
    target.mkdir(parents=True, exist_ok=True)
    for left in {f.name for f in target.iterdir()} - {f.name for f in _entries(source)}:
        _remove(target / left)
    for entry in _entries(source):
        copied = target / entry.name
        if entry.is_dir():
            complete(entry, copied)
        elif not _holds(entry, copied):
            _copy_file(entry, copied)


def link(source: Path, target: Path) -> None:
    """A copy of a checkpoint copy that shares the files that are written once, where the file system can share them.

    Made in a moment, and for use that throws it away. Raises OSError.
    """

    def share(one: str, other: str) -> None:
        if not one.endswith(_WRITTEN_ONCE):
            shutil.copyfile(one, other)
            return
        try:
            os.link(one, other)
        except OSError:
            shutil.copyfile(one, other)

    _replace(target, lambda part: shutil.copytree(source, part, copy_function=share))


def part_of(target: Path) -> Path:
    """The name of an unfinished copy."""
    return target.with_name(f".{target.name}.part")


def _replace(target: Path, fill: Callable[[Path], object]) -> None:
    """Make a folder under a temporary name, then give it its own; an older one of either name is removed."""
    part = part_of(target)
    for left in (part, target):
        shutil.rmtree(left, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    fill(part)
    part.rename(target)


def _copy(source: Path, target: Path) -> None:
    """Copy a file or folder; in a folder its files go first, since a snapshot is uploaded after the parts in folders.

    What is gone meanwhile was no longer needed; temporary files are left out.
    """
    if source.is_file():
        try:
            _copy_file(source, target)
        except FileNotFoundError:
            target.unlink(missing_ok=True)
    elif source.is_dir():
        target.mkdir()
        for entry in sorted(_entries(source), key=Path.is_dir):
            _copy(entry, target / entry.name)


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file, and the time of its change as it was before: what is written meanwhile looks changed afterwards."""
    was = source.stat()
    shutil.copyfile(source, target)
    os.utime(target, ns=(was.st_atime_ns, was.st_mtime_ns))


def _holds(source: Path, target: Path) -> bool:
    """Whether the copy of a file written once is that file."""
    if not (target.is_file() and source.name.endswith(_WRITTEN_ONCE)):
        return False
    one, other = source.stat(), target.stat()
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left)
    else:
        left.unlink()


def _entries(folder: Path) -> Iterator[Path]:
    return (f for f in folder.iterdir() if not f.name.endswith(".tmp") and ".tmp." not in f.name)


def drop_beyond(checkpoint: Path, committed: int | None) -> None:
    """Remove what was planned after the newest commit, and state of later versions (a batch N leaves version N + 1)."""
    last = -1 if committed is None else committed
    for file in (checkpoint / "offsets").glob("*"):
        number = file.name.removeprefix(".").removesuffix(".crc")
        if number.isdigit() and int(number) > last:
            file.unlink()
    for file in (checkpoint / "state").rglob("*"):
        version = _STATE_VERSION.match(file.name)
        if version and int(version[1]) > last + 1:
            file.unlink()
