"""Carries out 0031_lag_for_standbys.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0031"
down_revision: str | None = "0030"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0031_lag_for_standbys.sql")
