"""Large batches of all versions one at a time: two at once leave those that serve without a core for as long."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

logger = logging.getLogger("kappa.turns")
_TAKE = "select pg_advisory_lock(hashtextextended('kappa:large-batch', 0))"
Connect = Callable[[], psycopg.Connection[tuple[Any, ...]]]


@contextmanager
def turn(connect: Connect, patience_ms: int) -> Iterator[None]:
    """The body while no other process has its turn, which ends with the body or with its process.

    Nobody waits longer than `patience_ms` (of one lock, > 0), nor for a Postgres that is away: the body runs then, too.
    """
    connection = None
    try:
        connection = _taken(connect, patience_ms)
    except psycopg.errors.LockNotAvailable:
        logger.info("no turn within %s ms: the batch goes on without", patience_ms)
    except psycopg.OperationalError as error:
        logger.warning("no turn, postgres is away: %s", error)
    try:
        yield
    finally:
        if connection is not None:
            connection.close()


def _taken(connect: Connect, patience_ms: int) -> psycopg.Connection[tuple[Any, ...]]:
    connection = connect()
    try:
        connection.autocommit = True
        connection.execute("select set_config('lock_timeout', %s, false)", [f"{patience_ms}ms"])
        connection.execute(_TAKE)
    except psycopg.Error:
        with suppress(psycopg.Error):
            connection.close()
        raise
    return connection
