"""Carries out 0004_releases.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0004"
down_revision: str | None = "0003"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0004_releases.sql")
