"""Carries out 0016_folders_of_generations.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0016"
down_revision: str | None = "0015"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0016_folders_of_generations.sql")
