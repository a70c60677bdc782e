"""Carries out 0027_live_validations.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0027"
down_revision: str | None = "0026"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0027_live_validations.sql")
