"""Carries out 0014_future_share.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0014"
down_revision: str | None = "0011"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0014_future_share.sql")
