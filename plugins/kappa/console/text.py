"""Rows of Postgres as a page takes them: times as ISO 8601, money and other great integers as text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

SAFE = 2**53 - 1
"""The greatest integer that JavaScript tells from its neighbours."""


def plain(value: Any) -> Any:
    """A value, or whatever is in it, as JSON and JavaScript both know it."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE:
        return str(value)
    return value


def epoch(moment: datetime | None) -> float | None:
    """Seconds since 1970, as plots and calculations take a time."""
    return None if moment is None else moment.timestamp()
