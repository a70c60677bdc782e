"""Copies of checkpoint folders: of one that nobody writes to, and of one that a running query goes on writing to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from jobs.checkpoints import Checkpoint

# What a running query adds in the order offsets, state, commits is copied the other way round: each copied commit then
# finds its offsets and its state, whatever is added meanwhile.
_RUNNING_ORDER = ("commits", "offsets", "state")
_STATE_VERSION = re.compile(r"^\.?(\d+)(?:_[^.]+)?\.(?:zip|changelog|delta|snapshot)(?:\.crc)?$")


def copy_stopped(source: Path, target: Path) -> None:
    """Copy a checkpoint that nobody writes to; `target` is whole or is not there. Raises OSError."""
    _replace(target, lambda part: shutil.copytree(source, part))


def copy_running(source: Path, target: Path) -> None:
    """Copy a checkpoint that a query writes to, as of its newest batch committed when this began. Raises OSError.

    The copy holds no batch that was planned and not committed. Of a query that never ran it is an empty folder.
    """

    def fill(part: Path) -> None:
        part.mkdir(parents=True)
        others = sorted({f.name for f in source.iterdir()} - set(_RUNNING_ORDER)) if source.is_dir() else []
        for name in (*_RUNNING_ORDER, *others):
            _copy(source / name, part / name)
        _drop_beyond(part, Checkpoint(part).newest_committed())

    _replace(target, fill)


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
            shutil.copyfile(source, target)
        except FileNotFoundError:
            target.unlink(missing_ok=True)
    elif source.is_dir():
        target.mkdir()
        for entry in sorted(_entries(source), key=Path.is_dir):
            _copy(entry, target / entry.name)


def _entries(folder: Path) -> Iterator[Path]:
    return (f for f in folder.iterdir() if not f.name.endswith(".tmp") and ".tmp." not in f.name)


def _drop_beyond(checkpoint: Path, committed: int | None) -> None:
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
