"""Connections of the jobs to Postgres, which end where no answer comes, and the time that a transaction is given."""

from __future__ import annotations

import time
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen

from kappa.core.installation.settings import Settings

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


BASE_SECONDS = 30
ROWS_PER_BASE = 100_000
"""Each so many changed rows are given the base once more: a seventh of the speed that two busy cores were seen at."""
LONGEST_SECONDS = 600
IDLE_PART = 3
"""Of that time a transaction may wait for its own driver no more than this part, a third, without a statement."""

TIMED_OUT = (errors.TransactionTimeout, errors.IdleInTransactionSessionTimeout, Silent)
"""Postgres ended the connection by its time-outs, which are of class 25: psycopg counts them as internal errors. Or it
did not answer at all."""
TRANSIENT = (psycopg.OperationalError, psycopg.InterfaceError, *TIMED_OUT, errors.ReadOnlySqlTransaction)
"""What passes: a connection that broke or is refused, a lock, a deadlock, a full disk, a time-out, and a server that
only reads, since another one is taking its place."""


def seconds_for(rows: int, timed_out: int) -> int:
    """The time for a transaction that changes so many rows; twice as long after each time-out of the same batch.

    The time-out is there to free the locks of a transaction that hangs. It is no judgement on a slow machine: a batch
    is planned once, and must fit in the end.
    """
    of_rows = BASE_SECONDS * (1 + rows // ROWS_PER_BASE)
    return int(min(max(of_rows, LONGEST_SECONDS), of_rows * 2**timed_out))
