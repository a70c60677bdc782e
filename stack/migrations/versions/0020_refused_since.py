"""Carries out 0020_refused_since.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0020"
down_revision: str | None = "0019"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0020_refused_since.sql")
