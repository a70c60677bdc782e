"""Carries out 0002_serving.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0002"
down_revision: str | None = "0001"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0002_serving.sql")
