"""Running the suites: a context that lives as long as this process, and Great Expectations' results as findings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import great_expectations as gx
import great_expectations.expectations as gxe
from great_expectations.data_context.types.base import ProgressBarsConfig
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from gate import parity, refused
from gate.findings import MOST_ROWS, Comparison, Finding, Severity, Verdict, plain, plain_rows
from gate.suites import ad_ctr_minute, client_spend_minute, quarantine, windowed
from gate.suites.expecting import BLOCK, OFFENDING
from kappa.core.validation import BadRequest, Request, Subject

SUITES: Mapping[str, ModuleType] = {
    "ad_ctr_minute": ad_ctr_minute,
    "client_spend_minute": client_spend_minute,
    "quarantine": quarantine,
}
"""Table -> the module of its suite; a table of windows that is not named has what all of them must show."""
KEYS = "unexpected_index_column_names"
LISTED = {
    "result_format": "COMPLETE",
    "partial_unexpected_count": MOST_ROWS,
    "return_unexpected_index_query": False,
}
"""The result format that hands out rows: of a statement all of them, of a ready-made expectation their keys."""


def judge(request: Request) -> Verdict:
    """Hold every candidate against its suite and what is live, or what serves against its suite. Raises BadRequest, and
    what the database raises."""
    begun = time.monotonic()
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    source = context.data_sources.add_postgres("kappa", connection_string=request.database)
    findings = [found for subject in request.subjects for found in _held(context, source, request, subject)]
    counted = (subject for subject in request.subjects if subject.windowed or not request.of_live)
    comparisons = [_compared(request, subject) for subject in counted]
    return Verdict(tuple(findings), tuple(comparisons), time.monotonic() - begun, request.of_live)


def _held(context: Any, source: Any, request: Request, subject: Subject) -> Iterator[Finding]:
    """The findings of one version, in the order of its suite.

    Ready-made expectations are first asked for yes or no only: each would scan the rows twice more, to list what is not
    there. Those that are not met are asked again, with the statements, for their rows.
    """
    suite = suite_of(subject)
    # A query asset would be read as a whole, to learn its columns.
    asset = source.add_table_asset(subject.table, table_name=subject.rows)
    batch = asset.add_batch_definition_whole_table("candidate").get_batch()

    def ask(name: str, asked: list[Any], result_format: Mapping[str, Any]) -> dict[str, Finding]:
        held = context.suites.add(gx.ExpectationSuite(name=f"{subject.table}_{name}", expectations=asked))
        results = batch.validate(held, result_format=dict(result_format)).results
        return {r.expectation_config.meta["name"]: finding(subject.table, r) for r in results}

    ready = [e for e in suite.expectations(request, subject) if not isinstance(e, gxe.UnexpectedRowsExpectation)]
    found = ask("shape", ready, {"result_format": "BOOLEAN_ONLY"}) if ready else {}
    met = {name for name, one in found.items() if one.success}
    keys = [*subject.keys, "window_start"] if subject.windowed else quarantine.KEY
    # Built anew: an expectation belongs to one suite for ever.
    expectations = suite.expectations(request, subject)
    names = [e.meta["name"] for e in expectations]
    found |= ask("rows", [e for e in expectations if e.meta["name"] not in met], LISTED | {KEYS: keys})
    yield from (found[name] for name in names)


def suite_of(subject: Subject) -> ModuleType:
    """The module whose `expectations` the candidate must meet. Raises BadRequest where there is none."""
    if subject.table in SUITES:
        return SUITES[subject.table]
    if subject.windowed:
        return windowed
    raise BadRequest(f"table {subject.table!r} has no suite; suites exist for {', '.join(SUITES)}")


def finding(suite: str, result: Any) -> Finding:
    """One of Great Expectations' results as a finding."""
    asked, found = result.expectation_config, result.result or {}
    problem = _problem(result.exception_info)
    count, rows = _offending(found)
    return Finding(
        suite=suite,
        expectation=asked.meta["name"],
        says=asked.description,
        severity=Severity.BLOCK if asked.severity == BLOCK else Severity.WARN,
        success=bool(result.success) and problem is None,
        observed=_observed(bool(result.success), count, found, problem),
        count=count,
        rows=plain_rows(rows),
        problem=problem,
    )


def _offending(found: Mapping[str, Any]) -> tuple[int, list[Mapping[str, Any]]]:
    """How many rows are wrong, and some of them."""
    if "details" in found:
        rows = found["details"].get("unexpected_rows") or []
        count = rows[0][OFFENDING] if rows else 0
        return count, [{name: row[name] for name in row if name != OFFENDING} for row in rows]
    return found.get("unexpected_count") or 0, found.get("unexpected_index_list") or []


def _observed(success: bool, count: int, found: Mapping[str, Any], problem: str | None) -> str:
    if problem is not None:
        return "not looked at: it raised an exception"
    if count:
        return f"{count:,} offending row{'s' if count > 1 else ''}"
    if "observed_value" in found and "details" not in found:
        return (
            f"{found['observed_value']:,}" if isinstance(found["observed_value"], int) else str(found["observed_value"])
        )
    return "as expected" if success else "not as expected"


def _problem(info: Any) -> str | None:
    """The exception's message, from one record of an exception or from one per metric."""
    if not isinstance(info, Mapping):
        return None
    if "raised_exception" in info:
        return (
            str(info.get("exception_message") or "an exception without a message") if info["raised_exception"] else None
        )
    return next((problem for held in info.values() if (problem := _problem(held))), None)


def _compared(request: Request, subject: Subject) -> Comparison:
    """What the comparison of a job comprises, or the look at what serves of it."""
    comparing = parity.counted if subject.windowed else refused.counted
    statement = (parity.held if subject.served else comparing)(subject)
    engine = create_engine(request.database, poolclass=NullPool)
    with engine.connect() as connection:
        row = connection.execute(text(statement)).mappings().one()
    figures = {name: plain(value) for name, value in row.items() if name != "compared"}
    return Comparison(
        subject.job, subject.live, subject.candidate, subject.since, subject.until, row["compared"], figures
    )
