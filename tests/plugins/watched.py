"""The registry and the releases in Postgres, for those who look at each of their transactions while it is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import psycopg
from psycopg.rows import DictRow

from kappa.registry.postgres import PostgresRegistry
from kappa.registry.releases.postgres import PostgresReleases
from kappa.registry.transactions import Connection, PostgresTransactions

Watch = Callable[[psycopg.Connection[Any]], None]


class Watched(PostgresTransactions):
    """Tells of each transaction before each of its statements and before it is committed."""

    _watch: Watch | None = None

    def watched_by(self, watch: Watch) -> Self:
        """The same for one who looks."""
        other = copy(self)
        other._watch = watch
        return other

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction."""
        with super().transaction() as connection:
            yield self._seen(connection)
            if self._watch is not None:
                self._watch(connection)

    def _seen(self, connection: Connection) -> Connection:
        if self._watch is not None:
            connection.cursor_factory = _telling(self._watch)
        return connection


class WatchedRegistry(Watched, PostgresRegistry):
    """The registry."""


class WatchedReleases(Watched, PostgresReleases):
    """The releases; also what they do as the tables' owner, statement by statement."""

    @contextmanager
    def _owner(self) -> Iterator[Connection]:
        with super()._owner() as connection:
            yield self._seen(connection)


def _telling(watch: Watch) -> type[psycopg.Cursor[DictRow]]:
    """Cursors that tell of a statement before it is made."""

    class Telling(psycopg.Cursor[DictRow]):
        def execute(self, *arguments: Any, **named: Any) -> Self:
            watch(self.connection)
            return super().execute(*arguments, **named)

    return Telling
