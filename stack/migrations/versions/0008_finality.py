"""Carries out 0008_finality.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0008"
down_revision: str | None = "0007"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0008_finality.sql")
