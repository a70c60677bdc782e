"""Carries out 0011_plans.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0011"
down_revision: str | None = "0010"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0011_plans.sql")
