"""Checks that there is room for the state of the stack before anything is written."""

from __future__ import annotations

import shutil
from pathlib import Path

from kappa.core.refusals import Refusal

NEEDED_BYTES = 2_000_000_000


class DiskFull(Refusal):
    """Too little space at the state folder."""

    def __init__(self, home: Path, free: int, needed: int) -> None:
        super().__init__(
            f"the state folder {home} needs {needed // 1_000_000:,} MB, but only {free // 1_000_000:,} MB "
            "are free there. Free some space, or name a folder on a larger disk in KAPPA_HOME. "
            "Nothing was changed."
        )


def check(home: Path, needed: int = NEEDED_BYTES) -> None:
    """Raises DiskFull when fewer than `needed` bytes are free where `home` is or will be."""
    if (free := free_bytes(home)) < needed:
        raise DiskFull(home, free, needed)


def free_bytes(folder: Path) -> int:
    """How many bytes are free where a folder is or will be."""
    place = next(each for each in (folder, *folder.parents) if each.exists())
    return shutil.disk_usage(place).free
