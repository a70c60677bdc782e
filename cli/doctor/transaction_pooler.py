"""Tries whether a connection to Postgres keeps its session, which a pooler of transactions gives away."""

from __future__ import annotations

from collections.abc import Callable
from threading import Timer
from uuid import uuid4

import psycopg

from cli.doctor.trial import Wrong

Connection = psycopg.Connection[tuple[object, ...]]
LOOK_SECONDS = 5.0


def check(connection: Connection, connect: Callable[[], Connection], wait_seconds: float = LOOK_SECONDS) -> None:
    """What a statement sets for the session, the next one must find, also where a transaction of another connection
    began in between: a pooler that nobody else uses gives that one the server's connection that was used last, and
    would give it back for the next statement otherwise. `connect` makes the other connection. Raises Wrong."""
    mark = uuid4().hex
    connection.execute("select set_config('kappa.doctor', %s, false)", [mark])
    other = connect()
    # Where the pooler has no more than one, the look waits for it; to close it in a transaction is to give it up.
    given_up = Timer(wait_seconds, other.close)
    given_up.start()
    try:
        other.execute("begin")
        found = connection.execute("select current_setting('kappa.doctor', true)").fetchone()
    finally:
        given_up.cancel()
        other.close()
    if found != (mark,):
        raise Wrong(
            "two statements of one connection ran in two sessions: a pooler stands before the server",
            "Give the server's own address, or set the pooler to session mode: leases and the fence need a session.",
        )
