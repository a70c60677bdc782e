"""Single keys from a terminal, without Enter and without waiting for one."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


class Keys:
    """The keys that are pressed; never any where standard input is no terminal."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @property
    def there(self) -> bool:
        """Whether anybody can press one."""
        return self._descriptor is not None

    def forget(self) -> None:
        """Drop what was pressed up to now."""
        if self._descriptor is not None:
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def pressed(self) -> str | None:
        """The next key that was pressed, if one was."""
        if self._descriptor is None or not select.select([self._descriptor], [], [], 0)[0]:
            return None
        return os.read(self._descriptor, 1).decode(errors="replace") or None


class Always(Keys):
    """Keys of somebody who is not there: whenever one is waited for, it is this one."""

    def __init__(self, key: str) -> None:
        super().__init__(None)
        self._key = key

    @property
    def there(self) -> bool:
        """True: the key will be pressed."""
        return True

    def pressed(self) -> str | None:
        """The key."""
        return self._key


@contextmanager
def keys() -> Iterator[Keys]:
    """Keys one by one for as long as this lasts; then the terminal is as before. Ctrl-C still interrupts."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        yield Keys(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield Keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
