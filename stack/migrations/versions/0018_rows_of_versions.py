"""Carries out 0018_rows_of_versions.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0018"
down_revision: str | None = "0017"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0018_rows_of_versions.sql")
