"""The connection that a driver's batches are written by: made anew once it broke, and given the time that a batch
needs."""

from __future__ import annotations

from collections.abc import Callable

from jobs import postgres
from jobs.postgres import Connection
from jobs.sinks import rows
from kappa.core.job_catalog import Job

Connect = Callable[[], Connection]
_LIMIT = """select set_config('transaction_timeout', %(ms)s, false),
    set_config('idle_in_transaction_session_timeout', %(idle_ms)s, false)"""
_END = """select pg_terminate_backend(pid) from pg_stat_activity
where pid = any(%s) and application_name = current_setting('application_name') and pid <> pg_backend_pid()"""


class BatchConnection:
    """One connection at a time, for batches of one job.

    A server that was not told that the connection broke still has the transaction, and with it the fence. It is waited
    for, since it may be committing. Only what outlasts a time-out is ended: Postgres itself ends no COPY that waits for
    its client.
    """

    def __init__(self, job: Job, connect: Connect) -> None:
        self._job, self._connect = job, connect
        self._open: Connection | None = None
        self._limit = 0
        self._timed_out = 0
        self._left: list[int] = []

    def ready(self, changed_rows: int) -> Connection:
        """The connection, with the time-outs for a batch of so many rows. Raises postgres.TRANSIENT."""
        connection = self._open or self._connect()
        limit = postgres.seconds_for(changed_rows, self._timed_out)
        if connection is not self._open or limit != self._limit:
            times = {"ms": f"{limit * 1000}", "idle_ms": f"{limit * 1000 // postgres.IDLE_PART}"}
            connection.answer_seconds = limit + postgres.MARGIN_SECONDS
            connection.execute(_LIMIT, times)
            connection.commit()
            self._limit = limit
        if connection is not self._open:
            self._open = connection
            self._begin(connection)
        return connection

    def _begin(self, connection: Connection) -> None:
        if self._timed_out:
            connection.execute(_END, (self._left,))
        self._left.append(connection.info.backend_pid)
        rows.prepare(connection, self._job)

    def written(self) -> None:
        """A batch is in, so nothing is left of earlier connections that could hold the fence."""
        self._timed_out, self._left = 0, self._left[-1:]

    def broke(self, error: Exception) -> None:
        """The next attempt is by another connection."""
        self._timed_out += isinstance(error, postgres.TIMED_OUT)
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None
