"""Carries out 0015_quarantine_batch.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0015"
down_revision: str | None = "0014"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0015_quarantine_batch.sql")
