"""Carries out 0023_first_midnight.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0023"
down_revision: str | None = "0022"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0023_first_midnight.sql")
