"""How an expectation is written down: with a name, a sentence and whether it blocks."""

from __future__ import annotations

from typing import Any

import great_expectations.expectations as gxe

from gate.findings import MOST_ROWS

BLOCK, WARN = "critical", "warning"
"""Great Expectations' words for our severities."""
OFFENDING = "offending"
"""The column with the number of all rows that a statement found."""


def named(name: str, kind: type[gxe.Expectation], says: str, **given: Any) -> gxe.Expectation:
    """A ready-made expectation, blocking."""
    return kind(description=says, severity=BLOCK, meta={"name": name}, **given)


def no_rows(name: str, says: str, statement: str, severity: str = BLOCK) -> gxe.Expectation:
    """The expectation that a statement, which selects what is wrong, finds nothing.

    The rows are cut in the database: the driver would hold a million of them in memory, to hand out 200.
    """
    cut = f"select count(*) over () as {OFFENDING}, wrong.* from ({statement}) wrong limit {MOST_ROWS}"
    return gxe.UnexpectedRowsExpectation(
        description=says, severity=severity, meta={"name": name}, unexpected_rows_query=cut
    )
