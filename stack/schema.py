"""The database schema: Alembic over plain SQL files, run as `kappa_owner`."""

from __future__ import annotations

from pathlib import Path

import psycopg
from alembic import command, op
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from kappa.core.settings import Settings

MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(settings: Settings, revision: str = "head") -> None:
    """Bring the database to a revision, the newest one; does nothing where it is there already."""
    dsn = settings.dsn("kappa_owner")
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def run_sql(name: str) -> None:
    """Run one SQL file of the migrations folder within the running migration; for the revision files."""
    op.get_bind().connection.cursor().execute((MIGRATIONS / name).read_text())
