"""Who did what, when and why: the rows of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
