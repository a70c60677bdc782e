"""The registry and the releases in Postgres, for those who look at each of their transactions while it is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import psycopg
from psycopg.rows import DictRow

from kappa.registry.postgres import PostgresRegistry, PostgresReleases
from kappa.registry.releases.retiring import Owner
from kappa.registry.transactions import Connection, Database

Watch = Callable[[psycopg.Connection[Any]], None]


class WatchedDatabase(Database):
    """Tells of each transaction before each of its statements and before it is committed."""

    def __init__(self, dsn: str, watch: Watch | None) -> None:
        super().__init__(dsn)
        self._watch = watch

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction."""
        with super().transaction() as connection:
            yield _seen(connection, self._watch)
            if self._watch is not None:
                self._watch(connection)


@dataclass(frozen=True)
class WatchedOwner(Owner):
    """Tells of each statement as the tables' owner."""

    watch: Watch | None = None

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection as the tables' owner."""
        with super().connection() as connection:
            yield _seen(connection, self.watch)


class WatchedRegistry(PostgresRegistry):
    """The registry."""

    def __init__(self, dsn: str, watch: Watch | None = None) -> None:
        super().__init__(dsn, lambda to: WatchedDatabase(to, watch))
        self._dsn = dsn

    def watched_by(self, watch: Watch) -> WatchedRegistry:
        """The same for one who looks."""
        return WatchedRegistry(self._dsn, watch)


class WatchedReleases(PostgresReleases):
    """The releases; also what they do as the tables' owner, statement by statement."""

    def __init__(self, dsn: str, owner_dsn: str, lock_seconds: float, watch: Watch | None = None) -> None:
        super().__init__(
            dsn,
            owner_dsn,
            lock_seconds,
            lambda to: WatchedDatabase(to, watch),
            lambda to, seconds: WatchedOwner(to, seconds, watch),
        )
        self._made = (dsn, owner_dsn, lock_seconds)

    def watched_by(self, watch: Watch) -> WatchedReleases:
        """The same for one who looks."""
        return WatchedReleases(*self._made, watch)


Watched = WatchedRegistry | WatchedReleases


def _seen(connection: Connection, watch: Watch | None) -> Connection:
    if watch is not None:
        connection.cursor_factory = _telling(watch)
    return connection


def _telling(watch: Watch) -> type[psycopg.Cursor[DictRow]]:
    """Cursors that tell of a statement before it is made."""

    class Telling(psycopg.Cursor[DictRow]):
        def execute(self, *arguments: Any, **named: Any) -> Self:
            watch(self.connection)
            return super().execute(*arguments, **named)

    return Telling
