"""The result as one HTML page: what the template `report.html.j2` shows, in words and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gate.findings import Comparison, Finding, Verdict
from kappa.core.validation import Band, Direction, Parity, Request, other_side, telling_columns

TEMPLATE = "report.html.j2"
PARITY = {
    Parity.EXACT: "exact: candidate and live must be equal in every measure",
    Parity.DECLARED: "declared: measures may differ within these bands, all others must be equal",
    Parity.REPORT: "report: differences are listed and do not block",
}
SAID = {"passed": "Passed", "failed": "Failed: not to be promoted", "crashed": "Crashed: not validated"}
SAID_OF_LIVE = {**SAID, "failed": "Failed: what is served is not as it must be"}
OF_LIVE = "what serves: the expectations of the suites that need no other version, on windows that are final"
LEAST_SHARE = 0.00001
"""A smaller difference than this part of the live value would be shown as 0 %."""


@dataclass(frozen=True)
class Sum:
    """A figure that both sides have, and by how much the candidate's differs."""

    name: str
    live: str
    candidate: str
    change: str
    differs: bool


@dataclass(frozen=True)
class Compared:
    """A comparison as it is shown, or a look at what serves."""

    head: str
    told: str
    sums: Sequence[Sum]


@dataclass(frozen=True)
class Cell:
    """A value of an offending row, and how it is shown."""

    value: str
    style: str


@dataclass(frozen=True)
class Rows:
    """Offending rows, without the columns that say nothing."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def render(request: Request, verdict: Verdict) -> str:
    """The page. Everything that came from elsewhere is escaped."""
    # Trimmed blocks leave no empty lines where a loop or a condition stood.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    kind = "crashed" if verdict.crashed else "passed" if verdict.success else "failed"
    return environment.get_template(TEMPLATE).render(
        name=", ".join(f"{s.job} v{s.candidate}" for s in request.subjects),
        kind=kind,
        said=(SAID_OF_LIVE if request.of_live else SAID)[kind],
        sentence=_sentence(verdict),
        asked=_asked(request),
        bands=[_band(band) for band in request.bands],
        comparisons=[_compared(comparison) for comparison in verdict.comparisons],
        wrong=[(f, _rows(f.rows)) for f in sorted(verdict.findings, key=_rank) if not f.success],
        suites={suite: [f for f in verdict.findings if f.suite == suite] for suite in _suites(verdict)},
    )


def _sentence(verdict: Verdict) -> str:
    told = verdict.to_json()["statistics"]
    return (
        f"{sum(c.compared for c in verdict.comparisons):,} rows {'looked at' if verdict.of_live else 'compared'}; "
        f"{told['passed']} of {told['expectations']} "
        f"expectations met, {told['blocking']} block, {told['warnings']} warn; {verdict.seconds:.1f} s"
    )


def _asked(request: Request) -> dict[str, str]:
    what = {"what": OF_LIVE} if request.of_live else {"parity": PARITY[request.parity]}
    who = {"asked by": request.asked_by, "reason": request.reason or "none given", "run": request.run_id}
    return {**what, **who, **({"replay": request.replay_id} if request.replay_id else {})}


def _band(band: Band) -> str:
    by = (
        "by any amount" if band.most_permille is None else f"by at most {band.most_permille / 10:g} % of the live value"
    )
    return f"{band.column}: {'up or down' if band.direction is Direction.ANY else band.direction}, {by}"


def _compared(found: Comparison) -> Compared:
    span = f"windows from {found.since or 'the beginning of the log'} that end by {found.until or 'an unknown time'}"
    is_of_rows = "live_rows" in found.figures
    if found.live == found.candidate:
        return Compared(f"Looked at: {found.job} v{found.live}", f"{found.compared:,} rows; {span}", ())
    told = f"rows; {span}" if is_of_rows else "records that both versions have read"
    head = f"Compared: {found.job} v{found.candidate} with live v{found.live}"
    return Compared(head, f"{found.compared:,} {told}", list(_sums(found.figures)))


def _sums(figures: Mapping[str, Any]) -> Iterable[Sum]:
    for name in (name.removeprefix("live_") for name in figures if name.startswith("live_")):
        live, candidate = figures[f"live_{name}"] or 0, figures[f"candidate_{name}"] or 0
        change = candidate - live
        share = f" ({change / live:+.3%})" if live and abs(change / live) >= LEAST_SHARE else ""
        yield Sum(name, f"{live:,}", f"{candidate:,}", f"{f'{change:+,}' if change else '0'}{share}", bool(change))


def _rank(finding: Finding) -> tuple[bool, bool]:
    return (not finding.blocks, finding.problem is None)


def _suites(verdict: Verdict) -> list[str]:
    """Each once, as they came."""
    return list(dict.fromkeys(finding.suite for finding in verdict.findings))


def _rows(held: Sequence[Mapping[str, Any]]) -> Rows | None:
    if not held:
        return None
    shown = telling_columns(held)
    return Rows(shown, [[_cell(row, name) for name in shown] for row in held])


def _cell(row: Mapping[str, Any], name: str) -> Cell:
    """A value; marked where the live and the candidate's value beside it differ."""
    other = other_side(name)
    differs = other in row and row[other] != row[name]
    style = " ".join(["number"] * isinstance(row[name], int) + ["differs"] * differs)
    return Cell("" if row[name] is None else str(row[name]), style)
