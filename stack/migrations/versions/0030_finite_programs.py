"""Carries out 0030_finite_programs.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0030"
down_revision: str | None = "0029"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0030_finite_programs.sql")
