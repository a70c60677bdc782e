"""How long a batch's transaction may take, and which errors of Postgres pass: what met one is tried again."""

from __future__ import annotations

import psycopg
from psycopg import errors

from jobs.connections import Silent

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
