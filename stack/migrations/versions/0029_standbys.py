"""Carries out 0029_standbys.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0029"
down_revision: str | None = "0028"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0029_standbys.sql")
