"""How the console reads Postgres: over a connection, one reader at a time, and never for longer than a bound."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg.rows import dict_row

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.status.deadline import cut_off

ROLE = "kappa_operator"
"""It sees `serving`, `ops` and `reference` (contract, section 3) and can write nothing."""
SECONDS = 4.0
"""The longest that all statements of one reading may take together, whatever the server does."""
READ_ONLY = "-c timezone=UTC -c default_transaction_read_only=on"
LIGHT = "-c work_mem=64MB -c max_parallel_workers_per_gather=0 -c jit=off -c enable_sort=off"
"""One backend, which holds what it joins and adds up in memory: the streams need the other cores, and the disk.
Postgres does not know that an ad is of one client, so it expects many groups and sorts all rows on disk, four times as
slow."""
AWAY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError, psycopg.ProgrammingError)
"""The server, its schema or its rights; any other error is a defect of ours, and is not told as an answer."""
Reading = psycopg.Connection[dict[str, Any]]


class NotReadable(Refusal):
    """Postgres is away, slow, or has not what is asked for."""

    def __init__(self, where: str, why: object) -> None:
        super().__init__(
            f"Postgres at {where} gave no answer: {' '.join(str(why).split())}. The streams do not need this page; "
            f"./kappa status says more. An api-server that is not the embedded stack's needs {ROLE}.pgpass in the "
            "secrets folder."
        )


class TooSlow(Refusal):
    """What was asked for would take longer than a page may."""

    def __init__(self) -> None:
        super().__init__(
            f"this takes longer than {SECONDS:g} s and was cut off, so that pages do not slow the streams down. "
            "Choose a shorter span, or one client."
        )


class Limited(psycopg.Connection[dict[str, Any]]):
    """A connection whose statements share a limit: each may take what those before it left."""

    ends_at = 0.0
    """By time.monotonic()."""

    def execute(self, *statement: Any, **how: Any) -> psycopg.Cursor[dict[str, Any]]:
        """As psycopg's. Raises TooSlow where nothing is left, psycopg's errors."""
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise TooSlow
        super().execute(f"set statement_timeout = {math.ceil(left * 1000)}", prepare=False)
        return super().execute(*statement, **how)

    def limited(self, seconds: float) -> Self:
        """The same, for so many seconds from now."""
        self.ends_at = time.monotonic() + seconds
        return self


class Database:
    """A connection of the console's; opened when it is first needed, and again once it is broken."""

    def __init__(self, settings: Settings, seconds: float = SECONDS) -> None:
        self._settings, self._seconds = settings, seconds
        self._turn = threading.Lock()
        self._held: Limited | None = None

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """The connection, for as long as the body runs; times are in UTC. Raises NotReadable, TooSlow."""
        with self._turn:
            try:
                connection = self._connected()
                with cut_off(connection, self._seconds + 1):
                    yield connection.limited(self._seconds)
            except psycopg.errors.QueryCanceled as error:
                raise TooSlow from error
            except AWAY as error:
                raise NotReadable(self._settings.database_address, error) from error

    def _connected(self) -> Limited:
        if self._held is None or self._held.closed:
            self._held = Limited.connect(
                self._settings.dsn(ROLE), autocommit=True, row_factory=dict_row, options=f"{READ_ONLY} {LIGHT}",
                connect_timeout=max(2, round(self._seconds)), application_name="kappa:console",
            )  # fmt: skip
        return self._held
