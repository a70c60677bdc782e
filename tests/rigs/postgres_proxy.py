"""A TCP proxy before Postgres: it can fall silent, break its clients' ends, and strike a connection at the COMMIT
of a batch."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import Enum, auto
from itertools import repeat
from typing import Self

from kappa.core.installation.addresses import LOOPBACK
from kappa.core.installation.settings import Settings

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
OF_A_BATCH = b"copy stage "
"""What a batch that has rows sends before its COMMIT."""


class AtCommit(Enum):
    """What becomes of a batch's COMMIT: it passes; it is done, and its answer lost; or it never gets there."""

    PASSES = auto()
    ANSWER_LOST = auto()
    LOST = auto()


class PostgresProxy:
    """Passes on what clients and the server say, as a context manager. `fates` has one for each COMMIT of a batch, and
    `struck` those that did not pass."""

    def __init__(self, settings: Settings) -> None:
        self._server = (LOOPBACK, settings.ports.postgres)
        self._listener = socket.create_server((LOOPBACK, 0))
        port = self._listener.getsockname()[1]
        self.settings = replace(settings, ports=replace(settings.ports, postgres=port))
        self.fates: Iterator[AtCommit] = repeat(AtCommit.PASSES)
        self.struck: list[AtCommit] = []
        self.is_silent, self.unanswered = False, 0
        self._wires: list[_Wire] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="postgres-proxy", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        for wire in self._wires:
            wire.close()

    def fall_silent(self) -> None:
        """Take whatever comes, connections too, and answer nothing."""
        self.is_silent = True

    def speak(self) -> None:
        """Pass on again; connections that something of was lost are broken."""
        self.is_silent = False
        for wire in self._wires:
            if wire.is_broken:
                wire.close()

    @contextmanager
    def heard_at_last(self) -> Iterator[None]:
        """Speak once the body is over, however it ends: a driver that hears nothing is not told to stop either."""
        try:
            yield
        finally:
            self.speak()

    def cut(self) -> None:
        """The clients' ends of all connections break: the server is not told, and believes in them."""
        for wire in self._wires:
            wire.cut()

    def fate(self) -> AtCommit:
        """What becomes of the next COMMIT of a batch."""
        fate = next(self.fates, AtCommit.PASSES)
        if fate is not AtCommit.PASSES:
            self.struck.append(fate)
        return fate

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.unanswered += self.is_silent
            self._wires.append(_Wire(self, client, None if self.is_silent else socket.create_connection(self._server)))


class _Wire:
    """One client's connection, and the server's end of it; none where the proxy was silent when the client came."""

    def __init__(self, proxy: PostgresProxy, client: socket.socket, server: socket.socket | None) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self.is_broken = server is None
        self._has_rows = self._is_answer_lost = False
        for pump in (self._up, self._down):
            threading.Thread(target=self._run, args=(pump,), daemon=True).start()

    def close(self) -> None:
        """End both sides."""
        for end in filter(None, (self._client, self._server)):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """End the client's side only."""
        self.is_broken = True
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)

    def _run(self, pump: Callable[[], None]) -> None:
        """Until one side ends; in silence the other one does not hear of it."""
        with suppress(OSError):
            pump()
        if not self._is_lost():
            self.close()

    def _up(self) -> None:
        while said := self._client.recv(65_536):
            if self._is_lost():
                continue
            self._has_rows = self._has_rows or OF_A_BATCH in said
            if said == COMMIT and self._has_rows and not self._goes_on():
                return
            assert self._server is not None
            self._server.sendall(said)

    def _down(self) -> None:
        while self._server is not None and (said := self._server.recv(65_536)):
            if self._is_answer_lost:
                return
            if not self._is_lost():
                self._client.sendall(said)

    def _goes_on(self) -> bool:
        """Whether the COMMIT is to reach the server."""
        self._has_rows = False
        fate = self._proxy.fate()
        self._is_answer_lost = fate is AtCommit.ANSWER_LOST
        return fate is not AtCommit.LOST

    def _is_lost(self) -> bool:
        self.is_broken = self.is_broken or self._proxy.is_silent
        return self.is_broken
