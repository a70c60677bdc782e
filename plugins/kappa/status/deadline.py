"""A bound of our own on waiting for Postgres: a server that stands still keeps to no time-out that it was told."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg


@contextmanager
def cut_off(connection: psycopg.Connection[Any], seconds: float, cut: threading.Event | None = None) -> Iterator[None]:
    """End the connection's socket after so many seconds: whoever waits for it then gets an error instead, and `cut` is
    set."""
    wire = socket.socket(fileno=os.dup(connection.fileno()))

    def end() -> None:
        if cut is not None:
            cut.set()
        with suppress(OSError):
            wire.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        wire.close()
