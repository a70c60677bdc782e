"""What a validation found: one finding per expectation, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from kappa.core.serialization import Serializable

MOST_ROWS = 50
"""Offending rows that are listed of an expectation; all are counted."""


class Severity(StrEnum):
    """Whether a finding keeps a candidate from being promoted, or is only told."""

    BLOCK = "block"
    WARN = "warn"


@dataclass(frozen=True)
class Finding(Serializable):
    """The result of an expectation: `observed` in words, `count` of the offending rows, at most MOST_ROWS of them.

    `problem` is the exception that kept it from being looked at, if there was one.
    """

    suite: str
    expectation: str
    says: str
    severity: Severity
    success: bool
    observed: str
    count: int = 0
    rows: tuple[Mapping[str, Any], ...] = ()
    problem: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether it alone keeps the candidate from being promoted: an exception does, whatever its severity."""
        return self.problem is not None or (not self.success and self.severity is Severity.BLOCK)


@dataclass(frozen=True)
class Comparison(Serializable):
    """What was compared of a job, or looked at of what serves: `figures` is the one row of its statement."""

    job: str
    live: int
    candidate: int
    since: datetime | None
    until: datetime | None
    compared: int
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The whole result."""

    findings: tuple[Finding, ...]
    comparisons: tuple[Comparison, ...]
    seconds: float
    of_live: bool = False

    @property
    def crashed(self) -> bool:
        """Whether an expectation could not be looked at."""
        return any(finding.problem for finding in self.findings)

    @property
    def success(self) -> bool:
        """Whether nothing blocks, and something was compared of every job; what serves is held against itself, and may
        have no rows."""
        compared = self.of_live or (bool(self.comparisons) and all(c.compared > 0 for c in self.comparisons))
        return bool(self.findings) and compared and not any(finding.blocks for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The result that the program hands back."""
        return {
            "success": self.success,
            "crashed": self.crashed,
            "of_live": self.of_live,
            "statistics": {
                "expectations": len(self.findings),
                "passed": sum(f.success for f in self.findings),
                "blocking": sum(f.blocks for f in self.findings),
                "warnings": sum(not f.success and not f.blocks for f in self.findings),
            },
            "compared_rows": sum(c.compared for c in self.comparisons),
            "comparisons": [c.to_json() for c in self.comparisons],
            "results": [f.to_json() for f in self.findings],
            "seconds": round(self.seconds, 1),
        }


def plain_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """At most MOST_ROWS rows, with values that JSON has."""
    return tuple({name: plain(value) for name, value in row.items()} for row in rows[:MOST_ROWS])


def plain(value: Any) -> Any:
    """A value as JSON has it: whole numbers whole, times as ISO in UTC, all else as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return str(value)
