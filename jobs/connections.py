"""A driver's connection to Postgres: one that ends by itself where nothing answers any more."""

from __future__ import annotations

import time
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

from kappa.core.settings import Settings

ROLE = "kappa_writer"
CONNECT_SECONDS = 10
MARGIN_SECONDS = 15.0
ANSWER_SECONDS = 30.0 + MARGIN_SECONDS
"""Longer than the server lets a transaction take (`registry.TIMEOUTS`): who has said nothing by then, never will."""
Result = TypeVar("Result")


class Silent(psycopg.OperationalError):
    """Something took what was sent and answers nothing: a server that hangs, or whatever stands before it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s; the connection is given up")


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed, with Silent, where an answer takes longer than `answer_seconds`.

    TCP's time-outs end what loses packets. Only this one ends what is acknowledged and then not answered, which no
    time-out of the server's does either: it may never have heard the question. Where the server is given longer for a
    transaction, `answer_seconds` is that and a margin.
    """

    answer_seconds = ANSWER_SECONDS

    def wait(self, gen: PQGen[Result], interval: float = 0.1, timeout: float | None = None) -> Result:
        """As psycopg's own, which all answers come through. Raises Silent."""
        limit, begun = self.answer_seconds, time.monotonic()
        try:
            return super().wait(gen, interval, limit if timeout is None else min(timeout, limit))
        except psycopg.OperationalError as error:
            if time.monotonic() - begun < limit:
                raise
            self.close()
            raise Silent(limit) from error


def connect(settings: Settings, name: str, options: str, autocommit: bool = False) -> Connection:
    """A connection as the role that drivers have; `name` is what the server calls it by."""
    return Connection.connect(
        settings.dsn(ROLE),
        autocommit=autocommit,
        application_name=name,
        options=options,
        connect_timeout=CONNECT_SECONDS,
        keepalives_idle=10,
        keepalives_interval=5,
        keepalives_count=3,
        tcp_user_timeout=20_000,
    )
