"""A reader of the serving views that polls all the time, for what must not make one wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

import psycopg

from jobs.settings import Settings
from tests.plugins.release_trials import PostgresReleaseTrial

AT_ONCE = 1.0
"""Seconds; far less than what is done meanwhile takes."""


@dataclass
class Reader:
    """Polls the serving views in REPEATABLE READ: which versions it saw together, and how long the longest took."""

    settings: Settings
    names: tuple[str, str]
    seen: list[tuple[int, ...]] = field(default_factory=list)
    longest: float = 0.0

    def read(self, over: Event) -> None:
        with psycopg.connect(self.settings.dsn("kappa_reader")) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            while not over.is_set():
                began = time.monotonic()
                self.seen.append(self._poll(connection))
                self.longest = max(self.longest, time.monotonic() - began)

    def _poll(self, connection: psycopg.Connection) -> tuple[int, ...]:
        with connection.transaction():
            found = [self._versions(connection) for _ in range(2)]
            connection.execute("select count(*) from serving.ad_ctr_minute")
            connection.execute("select count(*) from serving.client_spend_day")
        assert found[0] == found[1], "the list changed within one reading"
        return found[0]

    def _versions(self, connection: psycopg.Connection) -> tuple[int, ...]:
        rows = connection.execute(
            "select version from serving.freshness where job = any(%s) order by job", [list(self.names)]
        )
        return tuple(row[0] for row in rows)


@contextmanager
def reading(trial: PostgresReleaseTrial) -> Iterator[Reader]:
    """With a reader that polls all the time."""
    reader, over = Reader(trial.settings, trial.names), Event()
    thread = Thread(target=reader.read, args=[over])
    thread.start()
    try:
        yield reader
    finally:
        over.set()
        thread.join()
