"""Carries out 0025_newest_refused.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0025"
down_revision: str | None = "0024"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0025_newest_refused.sql")
