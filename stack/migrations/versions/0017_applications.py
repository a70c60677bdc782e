"""Carries out 0017_applications.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0017"
down_revision: str | None = "0016"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0017_applications.sql")
