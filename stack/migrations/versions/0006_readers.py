"""Carries out 0006_readers.sql."""

from __future__ import annotations

from stack.schema import run_sql

revision = "0006"
down_revision: str | None = "0005"


def upgrade() -> None:
    """Run the SQL file of this revision."""
    run_sql("0006_readers.sql")
