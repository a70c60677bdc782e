"""The lock that whoever rewrites a version's checkpoint holds for as long as it lives, orphaned or not."""

from __future__ import annotations

import time
from datetime import datetime
from types import TracebackType
from typing import Any

import psycopg

from jobs import postgres
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

WAIT_SECONDS = 120.0
POLL_SECONDS = 0.5
# The session idles while Spark works, and must hold the lock all the same: no time-out of the server may end it. But a
# host that is gone must not hold it for the two hours after which a server asks by default whether its client is there.
_ENDLESS = "-c transaction_timeout=0 -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0"
_ALIVE = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
_HOLDER = """
select l.pid, a.backend_start from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
    and l.database = (select oid from pg_database where datname = current_database())
    and (l.classid::bigint << 32) | l.objid::bigint = hashtextextended(%s, 0)
order by a.backend_start limit 1"""


class CheckpointHeld(Refusal):
    """Another process works on the version's checkpoint, or never ended."""

    def __init__(self, name: str, holder: tuple[int, datetime] | None) -> None:
        who = (
            f"Postgres backend {holder[0]}, connected since {holder[1]:%Y-%m-%d %H:%M:%S} UTC" if holder else "someone"
        )
        super().__init__(
            f"the checkpoint of {name} is held by {who}: an earlier repartition still runs. Nothing was touched. "
            "Wait for it or end its process (that frees the lock), then run this again."
        )


class LockLost(Exception):  # noqa: N818 - an end, not an error
    """The session that held the lock is gone; another may hold it."""


class CheckpointLock:
    """The advisory lock of one version's checkpoint, on a connection of its own; used as a context manager."""

    def __init__(self, settings: Settings, job: str, version: int, wait_seconds: float = WAIT_SECONDS) -> None:
        self._settings, self._wait_seconds = settings, wait_seconds
        self._name, self._key = f"{job} v{version}", f"kappa:checkpoint:{job}:{version}"
        # Unlike a driver's, this name holds no epoch: a driver that takes over ends only the connections that do.
        self._application = f"kappa:{job}:v{version}:checkpoint"
        self._connection: postgres.Connection | None = None

    def __enter__(self) -> CheckpointLock:
        """Take the lock. Raises CheckpointHeld."""
        self._connection = postgres.connect(
            self._settings, self._application, f"{_ENDLESS} {_ALIVE} -c timezone=UTC", autocommit=True
        )
        deadline = time.monotonic() + self._wait_seconds
        while not self._ask("select pg_try_advisory_lock(hashtextextended(%s, 0))")[0]:
            if time.monotonic() > deadline:
                holder = self._connection.execute(_HOLDER, (self._key,)).fetchone()
                self._connection.close()
                raise CheckpointHeld(self._name, holder and (holder[0], holder[1]))
            time.sleep(POLL_SECONDS)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self._connection is not None
        self._connection.close()

    def check(self) -> None:
        """Make sure that the lock is still held. Raises LockLost."""
        try:
            self._ask("select %s")
        except psycopg.OperationalError as error:
            raise LockLost(f"the lock on the checkpoint of {self._name} is lost: {error}") from error

    def _ask(self, statement: Any) -> tuple[Any, ...]:
        assert self._connection is not None
        row = self._connection.execute(statement, (self._key,)).fetchone()
        assert row is not None
        return row
