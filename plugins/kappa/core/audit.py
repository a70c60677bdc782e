"""Who did what, when and why: the rows of the audit."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

_IN_PLACE = "in-place-"


@dataclass(frozen=True)
class Author:
    """Who acts, in which run, and why."""

    actor: str
    run_id: str
    reason: str | None = None


@dataclass(frozen=True)
class Entry:
    """A row of the audit."""

    author: Author
    action: str
    job: str | None = None
    version: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


def run_id(verb: str, job: str) -> str:
    """A new id of a run that Airflow is to carry out: what for, when, and something that no other has."""
    return f"{verb}-{job}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}-{secrets.token_hex(2)}"


def in_place_id(verb: str, job: str) -> str:
    """The same of a command that acts by itself: Airflow never knew it."""
    return f"{_IN_PLACE}{run_id(verb, job)}"


def is_in_place(run_id: str) -> bool:
    """Whether a command acts by itself under this id."""
    return run_id.startswith(_IN_PLACE)
