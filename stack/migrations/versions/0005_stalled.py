"""Carries out 0005_stalled.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0005"
down_revision: str | None = "0004"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0005_stalled.sql")
