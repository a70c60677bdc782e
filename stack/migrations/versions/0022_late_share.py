"""Carries out 0022_late_share.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0022"
down_revision: str | None = "0021"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0022_late_share.sql")
