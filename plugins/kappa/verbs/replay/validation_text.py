"""A validation's outcome in Markdown, for whoever is asked whether to promote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kappa.core.validation import telling_columns
from kappa.verbs.replay.validation import Outcome

MOST_FINDINGS, MOST_ROWS = 12, 5
"""What is shown of it: the rest is in the report."""


def validated(outcome: Outcome) -> str:
    """Verdict first, then what was compared, then what was not as expected, with the first offending rows."""
    parts = [_verdict(outcome), *(_comparison(c) for c in outcome.get("comparisons", ()))]
    wrong = [result for result in outcome.get("results", ()) if not result["success"]]
    wrong.sort(key=lambda result: result["severity"] != "block")
    parts += [_finding(result) for result in wrong[:MOST_FINDINGS]]
    if len(wrong) > MOST_FINDINGS:
        parts.append(f"… and {len(wrong) - MOST_FINDINGS} more.")
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


def _finding(result: Mapping[str, Any]) -> str:
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
