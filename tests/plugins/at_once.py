"""What several do at once in Postgres, known by its locks instead of by the clock."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from kappa.core.installation.settings import Settings
from stack import waiting

PATIENCE_SECONDS = 30.0
"""For whatever must come; the machine may be busy."""
HOLDS_OUT_SECONDS = 2 * PATIENCE_SECONDS
"""What is to wait until the test ends it gives up later than the test does."""


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait for something; fails the test with its name."""
    assert waiting.until(holds, PATIENCE_SECONDS, 0.02), f"not within {PATIENCE_SECONDS:g} s: {what}"


def until_blocked(settings: Settings, role: str) -> None:
    """Wait until a connection of this role waits for a lock."""
    statement = "select 1 from pg_locks join pg_stat_activity using (pid) where not granted and usename = %s"
    with psycopg.connect(settings.dsn("kappa_registry"), autocommit=True) as connection:
        until(f"{role} waits for a lock", lambda: bool(connection.execute(statement, [role]).fetchall()))


def turn_on_all_jobs_is_taken(settings: Settings) -> bool:
    """Whether somebody has the turn on who serves."""
    with psycopg.connect(settings.dsn("kappa_registry")) as connection:
        statement = "select pg_try_advisory_xact_lock(hashtextextended('kappa', 0))"
        return connection.execute(statement).fetchone() == (False,)
