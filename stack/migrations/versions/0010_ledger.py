"""Carries out 0010_ledger.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0010"
down_revision: str | None = "0009"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0010_ledger.sql")
