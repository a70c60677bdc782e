"""Carries out 0001_registry.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0001"
down_revision: str | None = None


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0001_registry.sql")
