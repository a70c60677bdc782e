"""Carries out 0021_first_batch.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0021"
down_revision: str | None = "0020"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0021_first_batch.sql")
