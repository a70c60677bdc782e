"""Carries out 0019_dead_letter_share.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0019"
down_revision: str | None = "0018"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0019_dead_letter_share.sql")
