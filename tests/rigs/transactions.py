"""Trouble for a transaction: its wire is cut, another session holds what it needs; and a wait until it has met that."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import psycopg

from kappa.core.installation.settings import Settings
from stack.services.passwords import SUPERUSER
from stack.waiting import until
from tests.rigs.case import Case

PATIENCE_SECONDS = 60.0


class Wire:
    """A TCP wire to Postgres that can be cut at the driver's end: the server is not told, and believes in it."""

    def __init__(self, settings: Settings) -> None:
        self._server = ("127.0.0.1", settings.ports.postgres)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._near: list[socket.socket] = []
        self._far: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()
        self.settings = replace(settings, ports=replace(settings.ports, postgres=self._listener.getsockname()[1]))

    def cut(self) -> None:
        """The driver's end of all connections breaks."""
        for near in self._near:
            near.shutdown(socket.SHUT_RDWR)
        self._near = []

    def close(self) -> None:
        """Now the server is told, too."""
        self._listener.close()
        for far in self._far:
            far.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._server)
            self._near.append(near)
            self._far.append(far)
            threading.Thread(target=_carry, args=(near, far), daemon=True).start()
            threading.Thread(target=_answer, args=(far, near), daemon=True).start()


def _carry(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)


def _answer(server: socket.socket, driver: socket.socket) -> None:
    """The driver is told when the server hangs up."""
    _carry(server, driver)
    with suppress(OSError):
        driver.shutdown(socket.SHUT_RDWR)


def await_waiting(
    case: Case, where: Callable[[str], bool] = lambda _: True, goes_on: Callable[[], bool] = lambda: True, many: int = 1
) -> None:
    """Wait until so many of the writer's backends, one after another, have waited for such a lock."""
    pids: set[int] = set()

    def seen() -> bool:
        found = case.query("select pid, wait_event from pg_stat_activity where usename = 'kappa_writer' "
                           "and datname = current_database() and wait_event_type = 'Lock'")  # fmt: skip
        pids.update(row["pid"] for row in found if where(row["wait_event"]))
        return len(pids) >= many

    assert until(lambda: seen() or not goes_on(), PATIENCE_SECONDS)


@contextmanager
def holding(case: Case, *statements: str) -> Iterator[psycopg.Connection[Any]]:
    """Another session, within a transaction that has made these statements."""
    with psycopg.connect(case.settings.dsn(SUPERUSER)) as other:
        for statement in statements:
            other.execute(statement)
        yield other
