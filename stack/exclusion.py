"""One `up` or `down` at a time per state folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kappa.core.refusals import Refusal


class Busy(Refusal):
    """Another `up` or `down` of the same stack is under way."""

    def __init__(self, home: Path) -> None:
        super().__init__(
            f"another 'up' or 'down' of the stack in {home} is under way. Wait for its end, then try again."
        )


@contextmanager
def exclusive(home: Path) -> Iterator[None]:
    """Hold the lock of a state folder; the operating system frees it when the holder ends. Raises Busy."""
    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise Busy(home) from None
    try:
        yield
    finally:
        lock.release()
