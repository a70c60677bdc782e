"""Carries out 0028_replays_validated_at.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0028"
down_revision: str | None = "0027"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0028_replays_validated_at.sql")
