"""The database schema: Alembic over plain SQL files, run as `kappa_owner`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
from alembic import command, op
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.unavailable import Unreachable

MIGRATIONS = Path(__file__).parent / "migrations"


class DatabaseNewer(Refusal):
    """The database was migrated by code that is newer than this."""

    def __init__(self, revision: str, newest: str | None) -> None:
        super().__init__(
            f"the database is at revision {revision}, and this code knows none after {newest}. Nothing was changed. "
            "Use the code that migrated it or a newer one, or bring back a backup from before: './kappa db restore'."
        )


def migrate(settings: Settings, revision: str = "head") -> tuple[str, ...]:
    """Bring the database to a revision, the newest one; returns the revisions that were carried out, oldest first.

    Does nothing where it is there already. Raises DatabaseNewer, Unreachable.
    """
    with _connected(settings) as (connection, config):
        missing = _missing(connection, config, revision)
        command.upgrade(config, revision)
    return missing


def pending(settings: Settings) -> tuple[str, ...]:
    """The revisions that the database lacks, oldest first. Raises DatabaseNewer, Unreachable."""
    with _connected(settings) as (connection, config):
        return _missing(connection, config, "head")


def revision(settings: Settings) -> str | None:
    """The database's revision; None for an empty one. Raises Unreachable."""
    with _connected(settings) as (connection, _):
        return MigrationContext.configure(connection).get_current_revision()


def run_sql(name: str) -> None:
    """Run one SQL file of the migrations folder within the running migration; for the revision files."""
    op.get_bind().connection.cursor().execute((MIGRATIONS / name).read_text())


@contextmanager
def _connected(settings: Settings) -> Iterator[tuple[Connection, Config]]:
    """One transaction of the owner, and what Alembic works with in it. Raises Unreachable."""
    engine = create_engine("postgresql+psycopg://", creator=partial(_connect, settings), poolclass=NullPool)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        yield connection, config


def _connect(settings: Settings) -> psycopg.Connection:
    try:
        return psycopg.connect(settings.dsn("kappa_owner"))
    except psycopg.OperationalError as error:
        raise Unreachable("Postgres", settings.database_address, error) from error


def _missing(connection: Connection, config: Config, revision: str) -> tuple[str, ...]:
    scripts = ScriptDirectory.from_config(config)
    current = MigrationContext.configure(connection).get_current_revision()
    try:
        after = list(scripts.iterate_revisions(revision, current or "base"))
    except RevisionError:
        raise DatabaseNewer(str(current), scripts.get_current_head()) from None
    return tuple(each.revision for each in reversed(after))
