"""Carries out 0007_log_identity.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0007"
down_revision: str | None = "0006"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0007_log_identity.sql")
