"""What every act on the registry in Postgres rests on: one transaction, a turn on the job, a row in the audit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from kappa.core.audit import Entry
from kappa.core.installation.no_registry import NoRegistry
from kappa.unavailable import Unreachable

Connection = psycopg.Connection[DictRow]
CONNECT_TIMEOUT_SECONDS = 5
MISSING = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.errors.InvalidSchemaName)
"""What a statement ends with where a migration that its code needs did not run."""
_AUDIT = """
insert into registry.audit (actor, action, job, version, run_id, reason, evidence)
values (%s, %s, %s, %s, %s, %s, %s)"""


class Database:
    """A connection and a transaction per call, so nothing is held while waiting."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction. Raises Unreachable when Postgres does not answer, NoRegistry where something is missing."""
        try:
            with psycopg.connect(
                self._dsn,
                row_factory=dict_row,
                connect_timeout=CONNECT_TIMEOUT_SECONDS,
                application_name="kappa:control",
            ) as connection:
                # As its text a moment follows the zone, and PGTZ is stronger than the options of a connection.
                connection.execute("set local lock_timeout = '10s'; set local timezone = 'UTC'")
                yield connection
        except (psycopg.OperationalError, psycopg.errors.TransactionTimeout) as error:
            raise Unreachable("Postgres", address(self._dsn), error) from error
        except MISSING as error:
            raise NoRegistry(error.diag.message_primary) from error


def take_turn(connection: Connection, job: str) -> None:
    """Take turns on a job, until the end of the transaction."""
    connection.execute("select pg_advisory_xact_lock(hashtextextended('kappa:' || %s, 0))", [job])


def take_turn_on_all_jobs(connection: Connection) -> None:
    """Take turns on who serves, of whatever job, until the end of the transaction; before the turn on a job."""
    connection.execute("select pg_advisory_xact_lock(hashtextextended('kappa', 0))")


def audit(connection: Connection, entry: Entry) -> None:
    """Add a row to the audit within a transaction."""
    by, evidence = entry.author, Jsonb(dict(entry.evidence))
    values = [by.actor, entry.action, entry.job, entry.version, by.run_id, by.reason, evidence]
    connection.execute(_AUDIT, values)


def address(dsn: str) -> str:
    """Host and port of a connection string."""
    held = psycopg.conninfo.conninfo_to_dict(dsn)
    return f"{held.get('host')}:{held.get('port')}"
