"""Copies of checkpoints within a store: of one that a running query goes on writing to, completed once nobody does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from kappa.core.checkpoint.reader import Checkpoint
from kappa.core.store.location import Location

# What a running query adds in the order offsets, state, commits is copied the other way round: each copied commit then
# finds its offsets and its state, whatever is added meanwhile.
_RUNNING_ORDER = ("commits", "offsets", "state")
# Files of the state that are written once and never again. Spark gives each its own name, or a new one by a rename.
_WRITTEN_ONCE = (".sst", ".zip", ".changelog", ".delta", ".snapshot")
_STATE_VERSION = re.compile(r"^\.?(\d+)(?:_[^.]+)?\.(?:zip|changelog|delta|snapshot)(?:\.crc)?$")
AT_ONCE = 16
"""Copies under way at a time: each is a request to a server, or next to nothing."""


def copy_running(source: Location, target: Location) -> None:
    """Copy a checkpoint that a query writes to, as of its newest batch committed when this began. Raises OSError.

    The copy holds no batch that was planned and not committed. Of a query that never ran it is empty. What was at
    `target` is removed.
    """
    target.delete()
    for name in (*_RUNNING_ORDER, *sorted(source.names() - set(_RUNNING_ORDER))):
        _copy_what_stays(source / name, target / name)
    drop_beyond(target, Checkpoint(target).newest_committed())


def complete(source: Location, target: Location) -> None:
    """Make the copy of a checkpoint equal to it, now that nobody writes to it; temporary files are left out.

    A file of the state that the copy holds already, by its size and its stamp, is not copied again: most are never
    written a second time. `target` need not be there; after an OSError it is of no use. Raises OSError.
    """
    theirs, ours = source.files(), target.files()
    lasting = [name for name in theirs if not _is_temporary(name)]
    target.remove(ours.keys() - set(lasting))
    wanted = [name for name in lasting if not (name.endswith(_WRITTEN_ONCE) and ours.get(name) == theirs[name])]
    _each(lambda name: (source / name).copy_to(target / name), wanted)


def link(source: Location, target: Location) -> None:
    """A copy of a checkpoint copy that shares the files that are written once, where the store can share them.

    Made in a moment, and for use that throws it away. What was at `target` is removed. Raises OSError.
    """

    def give(name: str) -> None:
        if name.endswith(_WRITTEN_ONCE):
            (source / name).share_with(target / name)
        else:
            (source / name).copy_to(target / name)

    target.delete()
    _each(give, source.files())


def _copy_what_stays(source: Location, target: Location) -> None:
    """Copy a file, or all files below; temporary files are left out.

    What is gone meanwhile was no longer needed. A listing has a folder's files before those of the folders below it, so
    a snapshot in it, which is uploaded after its parts, has them in it, too.
    """

    def copy(name: str) -> None:
        with suppress(FileNotFoundError):
            (source / name).copy_to(target / name)

    found = [name for name in source.files() if not _is_temporary(name)]
    _each(copy, found)
    if not found and not _is_temporary(source.name):
        with suppress(FileNotFoundError, IsADirectoryError):
            source.copy_to(target)


def _each(act: Callable[[str], None], names: Iterable[str]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(act, name) for name in names]:
            done.result()


def _is_temporary(name: str) -> bool:
    return any(part.endswith(".tmp") or ".tmp." in part for part in name.split("/"))


def drop_beyond(checkpoint: Location, committed: int | None) -> None:
    """Remove what was planned after the newest commit, and state of later versions (a batch N leaves version N + 1)."""
    last = -1 if committed is None else committed
    plans, state = checkpoint / "offsets", checkpoint / "state"
    numbers = {name: name.removeprefix(".").removesuffix(".crc") for name in plans.names()}
    plans.remove(name for name, number in numbers.items() if number.isdigit() and int(number) > last)
    versions = {name: _STATE_VERSION.match(name.rsplit("/", 1)[-1]) for name in state.files()}
    state.remove(name for name, version in versions.items() if version and int(version[1]) > last + 1)
