"""One at a time: an `up`, `down` or `secrets rotate` per state folder, and whoever else holds a lock in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kappa.core.refusals import Refusal


class Busy(Refusal):
    """Another `up`, `down` or `secrets rotate` of the same stack is under way."""

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"another 'up', 'down' or 'secrets rotate' of the stack in {home} is under way. Wait for its end, then try "
            "again."
        )


@contextmanager
def exclusive(home: Path) -> Iterator[None]:
    """Hold the lock of a state folder; the operating system frees it when the holder ends. Raises Busy."""
    home.mkdir(parents=True, exist_ok=True)
    with held(home / "lock", Busy(home)):
        yield


@contextmanager
def held(file: Path, refusal: Refusal) -> Iterator[None]:
    """Hold a lock, in a folder that is there, while the body runs. Raises the refusal where somebody has it."""
    lock = FileLock(file)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise refusal from None
    try:
        yield
    finally:
        lock.release()
