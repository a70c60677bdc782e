"""Placeholder of the verb family 'lifecycle' until it lands."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
