"""Carries out 0009_bookkeeping.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0009"
down_revision: str | None = "0008"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0009_bookkeeping.sql")
