"""Trouble for a transaction: another session holds what it needs; and a wait until it has met that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from stack.services.passwords import SUPERUSER
from stack.waiting import until
from tests.rigs.case import Case

PATIENCE_SECONDS = 300.0


def await_waiting(
    case: Case, where: Callable[[str], bool] = lambda _: True, goes_on: Callable[[], bool] = lambda: True, many: int = 1
) -> None:
    """Wait until so many of the writer's backends, one after another, have waited for such a lock."""
    pids: set[int] = set()

    def seen() -> bool:
        found = case.query("select pid, wait_event from pg_stat_activity where usename = 'kappa_writer' "
                           "and datname = current_database() and wait_event_type = 'Lock'")  # fmt: skip
        pids.update(row["pid"] for row in found if where(row["wait_event"]))
        return len(pids) >= many

    assert until(lambda: seen() or not goes_on(), PATIENCE_SECONDS)


@contextmanager
def holding(case: Case, *statements: str) -> Iterator[psycopg.Connection[Any]]:
    """Another session, within a transaction that has made these statements."""
    with psycopg.connect(case.settings.dsn(SUPERUSER)) as other:
        for statement in statements:
            other.execute(statement)
        yield other
