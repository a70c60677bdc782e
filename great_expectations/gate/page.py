"""The result as one HTML page that needs nothing else: verdict first, then what was compared, then each expectation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from gate.findings import Comparison, Finding, Severity, Verdict
from kappa.core.validation import Parity, Request

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2430; background: #f4f6f8; margin: 0; }
main { max-width: 1100px; margin: 0 auto; padding: 24px; }
.verdict { border-radius: 8px; padding: 18px 24px; color: #fff; }
.verdict h1 { margin: 0; font-size: 26px; } .verdict p { margin: 4px 0 0; }
.passed { background: #1d7a46; } .failed { background: #b3261e; } .crashed { background: #6b1d6b; }
section { background: #fff; border-radius: 8px; padding: 12px 24px 20px; margin-top: 18px; }
h2 { font-size: 19px; margin: 10px 0; } h3 { font-size: 16px; margin: 18px 0 6px; }
table { border-collapse: collapse; width: 100%; } .scroll { overflow-x: auto; }
th, td { text-align: left; padding: 4px 10px; border-bottom: 1px solid #e3e7ec; white-space: nowrap; }
td.says { white-space: normal; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
.rows td, .rows th { font-size: 13px; } .differs { background: #fde7e5; font-weight: 600; }
.mark { display: inline-block; min-width: 62px; text-align: center; border-radius: 4px; padding: 0 6px;
  font-size: 13px; }
.ok { background: #dcf2e4; color: #14532d; } .block { background: #b3261e; color: #fff; }
.warn { background: #fff0c2; color: #6b4a00; } .quiet { color: #5b6675; }
pre { white-space: pre-wrap; background: #f4f6f8; padding: 8px 12px; border-radius: 6px; }
"""
PARITY = {
    Parity.EXACT: "exact: candidate and live must be equal in every measure",
    Parity.DECLARED: "declared: measures may differ within these bands, all others must be equal",
    Parity.REPORT: "report: differences are listed and do not block",
}


def render(request: Request, verdict: Verdict) -> str:
    """The page. Everything that came from elsewhere is escaped."""
    name = ", ".join(f"{s.job} v{s.candidate}" for s in request.subjects)
    body = "\n".join(
        [
            _headline(name, verdict),
            _asked(request),
            *(_comparison(c) for c in verdict.comparisons),
            *(_wrong(finding) for finding in sorted(verdict.findings, key=_rank) if not finding.success),
            *(_suite(name, verdict.findings) for name in dict.fromkeys(f.suite for f in verdict.findings)),
        ]
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Validation of {escape(name)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


def _headline(name: str, verdict: Verdict) -> str:
    kind = "crashed" if verdict.crashed else "passed" if verdict.success else "failed"
    said = {"passed": "Passed", "failed": "Failed: not to be promoted", "crashed": "Crashed: not validated"}[kind]
    told = verdict.to_json()["statistics"]
    sentence = (
        f"{sum(c.compared for c in verdict.comparisons):,} rows compared; {told['passed']} of {told['expectations']} "
        f"expectations met, {told['blocking']} block, {told['warnings']} warn; {verdict.seconds:.1f} s"
    )
    return f'<div class="verdict {kind}"><h1>{said}</h1><p>{escape(name)}</p><p>{sentence}</p></div>'


def _asked(request: Request) -> str:
    bands = "".join(f"<li>{_band(b.column, b.direction, b.most_permille)}</li>" for b in request.bands)
    rows = {
        "parity": PARITY[request.parity],
        "asked by": request.asked_by,
        "reason": request.reason or "none given",
        "run": request.run_id,
        "replay": request.replay_id,
    }
    cells = "".join(f'<tr><th>{escape(k)}</th><td class="says">{escape(v)}</td></tr>' for k, v in rows.items())
    return f"<section><h2>What was asked</h2><table>{cells}</table>{f'<ul>{bands}</ul>' if bands else ''}</section>"


def _band(column: str, direction: str, most: int | None) -> str:
    by = "by any amount" if most is None else f"by at most {most / 10:g} % of the live value"
    return f"{escape(column)}: {'up or down' if direction == 'any' else escape(direction)}, {by}"


def _comparison(found: Comparison) -> str:
    span = f"windows from {found.since or 'the beginning of the log'} that end by {found.until or 'an unknown time'}"
    head = f"<h2>Compared: {escape(found.job)} v{found.candidate} with live v{found.live}</h2>"
    told = f"<p>{found.compared:,} rows; {escape(span)}</p>" if "live_rows" in found.figures else _refused(found)
    return f"<section>{head}{told}{_sums(found.figures)}</section>"


def _refused(found: Comparison) -> str:
    return f"<p>{found.compared:,} records that both versions have read</p>"


def _sums(figures: Mapping[str, Any]) -> str:
    """Each figure that both sides have, and by how much the candidate's differs."""
    names = [name.removeprefix("live_") for name in figures if name.startswith("live_")]
    rows = "".join(_sum(name, figures[f"live_{name}"] or 0, figures[f"candidate_{name}"] or 0) for name in names)
    head = "<tr><th></th><th>live</th><th>candidate</th><th>difference</th></tr>"
    return f"<table>{head}{rows}</table>" if names else ""


def _sum(name: str, live: int, candidate: int) -> str:
    change = candidate - live
    share = f" ({change / live:+.3%})" if live and abs(change / live) >= 0.00001 else ""
    cells = "".join(f'<td class="number">{number}</td>' for number in (f"{live:,}", f"{candidate:,}"))
    marked = ' class="number differs"' if change else ' class="number"'
    return f"<tr><th>{escape(name)}</th>{cells}<td{marked}>{f'{change:+,}' if change else '0'}{share}</td></tr>"


def _rank(finding: Finding) -> tuple[bool, bool]:
    return (not finding.blocks, finding.problem is None)


def _wrong(finding: Finding) -> str:
    """What was not as expected, with its rows."""
    listed = f" The first {len(finding.rows)} are listed." if finding.count > len(finding.rows) else ""
    problem = f"<pre>{escape(finding.problem)}</pre>" if finding.problem else ""
    return (
        f"<section><h2>{_mark(finding)} {escape(finding.suite)}: {escape(finding.expectation)}</h2>"
        f"<p>Expected: {escape(finding.says)}. Found: {escape(finding.observed)}.{listed}</p>{problem}"
        f"{_rows(finding.rows)}</section>"
    )


def _rows(rows: Iterable[Mapping[str, Any]]) -> str:
    held = list(rows)
    if not held:
        return ""
    shown = [name for name in held[0] if _telling(held, name)]
    head = "".join(f"<th>{escape(name)}</th>" for name in shown)
    body = "".join(f"<tr>{''.join(_cell(row, name) for name in shown)}</tr>" for row in held)
    return f'<div class="scroll"><table class="rows"><tr>{head}</tr>{body}</table></div>'


def _telling(rows: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Whether a column says something: one of two sides does where they differ in some row."""
    return any(row.get(_beside(name), row) != row.get(name) for row in rows)


def _beside(name: str) -> str:
    """The column of the other side, if this is one of two."""
    return f"candidate_{name[5:]}" if name.startswith("live_") else f"live_{name.removeprefix('candidate_')}"


def _cell(row: Mapping[str, Any], name: str) -> str:
    """A value; marked where the live and the candidate's value beside it differ."""
    other = _beside(name)
    differs = " differs" if other in row and row[other] != row[name] else ""
    value = "" if row[name] is None else str(row[name])
    return f'<td class="{"number" if isinstance(row[name], int) else ""}{differs}">{escape(value)}</td>'


def _suite(name: str, findings: Iterable[Finding]) -> str:
    rows = "".join(
        f"<tr><td>{_mark(f)}</td><td>{escape(f.expectation)}</td>"
        f'<td class="quiet">{f.severity}</td><td class="says">{escape(f.says)}</td><td>{escape(f.observed)}</td></tr>'
        for f in findings
        if f.suite == name
    )
    head = "<tr><th></th><th>expectation</th><th>severity</th><th>expected</th><th>found</th></tr>"
    return f"<section><h2>Suite {escape(name)}</h2><table>{head}{rows}</table></section>"


def _mark(finding: Finding) -> str:
    if finding.success:
        return '<span class="mark ok">met</span>'
    if finding.problem:
        return '<span class="mark block">crashed</span>'
    kind = "block" if finding.severity is Severity.BLOCK else "warn"
    return f'<span class="mark {kind}">{kind}s</span>'
