"""Carries out 0003_lifecycle.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0003"
down_revision: str | None = "0002"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0003_lifecycle.sql")
