"""Carries out 0026_first_append_time.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0026"
down_revision: str | None = "0025"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0026_first_append_time.sql")
