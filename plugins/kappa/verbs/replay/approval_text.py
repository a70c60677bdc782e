"""What a validation found, for people: in a sentence, and as the text of the question whether to promote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kappa.core.replays import Replay
from kappa.core.requests.reprocessing import band_text
from kappa.core.validation import telling_columns
from kappa.verbs.replay.approvers import names
from kappa.verbs.replay.validation import Outcome
from kappa.verbs.start_point import utc

MOST_FINDINGS = 5
MOST_ROWS = 5
MOST_TOLD = 12
"""Findings that the text of the question has; all are in the report."""


def verdict(outcome: Mapping[str, Any]) -> str:
    """An outcome of `steps.validate` in one sentence, to be ended by the caller."""
    if outcome.get("crashed"):
        return str(outcome.get("problem") or "the validation crashed").removesuffix(".")
    compared = f"{outcome.get('compared_rows', 0):,} rows were compared"
    if outcome.get("success"):
        warned = [f for f in outcome.get("results", ()) if not f["success"]]
        return f"{compared}, nothing speaks against it" + (f", {len(warned)} warnings" if warned else "")
    against = [_finding(f) for f in blocking(outcome)]
    if not against:
        return f"{compared}; of some job there was nothing to compare"
    more = f", and {len(against) - MOST_FINDINGS} more" if len(against) > MOST_FINDINGS else ""
    return f"{compared}; not met: {'; '.join(against[:MOST_FINDINGS])}{more}"


def blocking(outcome: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The results that keep the candidates from being promoted."""
    return [f for f in outcome.get("results", ()) if not f["success"] and f["severity"] == "block"]


def offending(outcome: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Some rows of the results that block, for the audit."""
    return [row for f in blocking(outcome) for row in f.get("rows", ())[:MOST_ROWS]]


def markdown(replay: Replay) -> str:
    """The report as Markdown: what would serve, since when, what was compared, and what was not as expected."""
    outcome = replay.validation or {}
    bands = f" ({', '.join(band_text(band) for band in replay.bands)})" if replay.bands else ""
    facts = [
        ("would serve", names(replay)),
        ("serve now", ", ".join(f"{job} v{version}" for job, version in sorted(replay.live.items()))),
        ("windows from", "the beginning of the log" if replay.starts_ms is None else utc(replay.starts_ms)),
        ("parity", f"{replay.parity}{bands}"),
        ("asked by", f"{replay.asked_by}: {replay.reason or 'no reason given'}"),
        ("records", f"{int(replay.price.get('records', 0)):,}"),
        ("report", report_file(outcome)),
    ]
    closing = "Approve: the segments move to the candidates, in one transaction. Reject: nothing changes."
    found = validated(outcome) if outcome else "**Not validated.**"
    return "\n\n".join([table(("", ""), facts), found, closing])


def report_file(outcome: Mapping[str, Any]) -> str:
    """The validation's page, below the store: who reads this text may sit at another machine."""
    return f"{outcome.get('folder', '')}/report.html"


def _finding(finding: Mapping[str, Any]) -> str:
    return f"{finding['suite']}: {finding['says']} ({finding['observed']})"


def validated(outcome: Outcome) -> str:
    """Verdict first, then what was compared, then what was not as expected, with the first offending rows."""
    parts = [_verdict(outcome), *(_comparison(c) for c in outcome.get("comparisons", ()))]
    wrong = [result for result in outcome.get("results", ()) if not result["success"]]
    wrong.sort(key=lambda result: result["severity"] != "block")
    parts += [_told(result) for result in wrong[:MOST_TOLD]]
    if len(wrong) > MOST_TOLD:
        parts.append(f"… and {len(wrong) - MOST_TOLD} more.")
    return "\n\n".join(parts)


def _verdict(outcome: Outcome) -> str:
    if outcome.get("crashed"):
        return f"**Not validated.** {_text(outcome['problem'])}"
    told = outcome["statistics"]
    sentence = (
        f"{outcome['compared_rows']:,} rows compared; {told['passed']} of {told['expectations']} expectations met, "
        f"{told['blocking']} block, {told['warnings']} warn."
    )
    return f"**{'Validated.' if outcome['success'] else 'Validation failed.'}** {sentence}"


def _comparison(found: Mapping[str, Any]) -> str:
    head = f"`{found['job']}` v{found['candidate']} beside live v{found['live']}: {found['compared']:,} compared"
    figures = found["figures"]
    names = [name.removeprefix("live_") for name in figures if name.startswith("live_")]
    rows = [(name, figures[f"live_{name}"] or 0, figures[f"candidate_{name}"] or 0) for name in names]
    changed = [(name, f"{live:,}", f"{new:,}", f"{new - live:+,}") for name, live, new in rows if live != new]
    if not changed:
        return f"{head}; all totals are equal." if names else f"{head}."
    return f"{head}; totals that differ:\n\n{table(('measure', 'live', 'candidate', 'difference'), changed)}"


def _told(result: Mapping[str, Any]) -> str:
    head = (
        f"- **{result['severity']}**: `{result['suite']}` `{result['expectation']}`: expected that "
        f"{_text(result['says'])}; found: {_text(result['observed'])}"
    )
    rows = result["rows"][:MOST_ROWS]
    shown = telling_columns(rows)
    return f"{head}\n\n{table(shown, ([row.get(name) for name in shown] for row in rows))}" if shown else head


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table whose cells can neither end their row nor bring in markup."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: object) -> str:
    """A value that cannot leave its place in Markdown or bring in markup."""
    text = "" if value is None else str(value)
    for mark, shown in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "'"), ("\n", " ")):
        text = text.replace(mark, shown)
    return text
