"""Folders on small file systems of their own, which can be filled to the last byte and freed again."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BLOCK = 1 << 20


@dataclass(frozen=True)
class Disk:
    """A small file system that is mounted on a folder."""

    folder: Path

    @contextmanager
    def full(self) -> Iterator[None]:
        """No byte is free while the body runs: a file takes what was left, and is gone afterwards."""
        ballast = self.folder / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file:
                for size in (BLOCK, 1):
                    _fill(file.fileno(), size)
            yield
        finally:
            ballast.unlink()


def _fill(file: int, size: int) -> None:
    """Write pieces of that many bytes until none fits."""
    try:
        while os.write(file, bytes(size)):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """A tmpfs of that size on the folder, which is made; unmounted afterwards. That takes root: without it this fails
    and says so, since a fault that is skipped proves nothing."""
    assert os.geteuid() == 0, "a full disk is tried on a small file system of its own, and only root may mount one"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "kappa-small-disk", str(folder))
    try:
        yield Disk(folder)
    finally:
        # What still holds a file of it at that moment keeps its file, and nobody can make a new one.
        _run("umount", "--lazy", str(folder))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}"
