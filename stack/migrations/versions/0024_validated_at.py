"""Carries out 0024_validated_at.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0024"
down_revision: str | None = "0023"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0024_validated_at.sql")
