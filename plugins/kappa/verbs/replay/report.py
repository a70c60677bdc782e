"""What a validation found, for people: in a sentence, and as the text of the question whether to promote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kappa.core.replays import Replay
from kappa.core.requests.reprocessing import band_text
from kappa.verbs.replay.approval import names
from kappa.verbs.replay.validation_text import table, validated
from kappa.verbs.start_point import utc

MOST_FINDINGS = 5
MOST_ROWS = 5


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
    """The validation's page, below the state folder: who reads this text may sit at another machine."""
    return f"{outcome.get('folder', '')}/report.html"


def _finding(finding: Mapping[str, Any]) -> str:
    return f"{finding['suite']}: {finding['says']} ({finding['observed']})"
