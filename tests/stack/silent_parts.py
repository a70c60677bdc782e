"""Parts that listen and never answer: at once, or after they let somebody in."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AUTHENTICATED = struct.pack("!cii", b"R", 8, 0)
READY = struct.pack("!cic", b"Z", 5, b"I")
SSL_REQUEST = 80877103


@contextmanager
def listening(greet: Callable[[socket.socket], None] = lambda _: None) -> Iterator[int]:
    """A port of this machine on which every connection is accepted, greeted and then left alone."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                    held.append(connection)
                    greet(connection)
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield int(server.getsockname()[1])
        finally:
            for connection in held:
                connection.close()


def let_in(connection: socket.socket) -> None:
    """As Postgres greets a client that it trusts; what the client asks then is not answered."""
    while True:
        length, code = struct.unpack("!ii", connection.recv(8))
        if code != SSL_REQUEST:
            break
        connection.sendall(b"N")
    connection.recv(length - 8)
    connection.sendall(AUTHENTICATED + READY)
