"""Hold what serves against what the gate's suites expect of it, and keep what was found of each version.

Expected is what needs no other version to be seen; nothing is started, stopped or changed, and nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kappa.core.audit import Author
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find
from kappa.core.refusals import Refusal
from kappa.core.validation import Held, Parity, Request, Subject
from kappa.core.verb_steps import Verb
from kappa.registry.live_validations import Found, LiveValidations, Serving
from kappa.registry.transactions import Database
from kappa.verbs.replay.approval_text import blocking, report_file
from kappa.verbs.replay.validation import ROLE, Outcome, Runner, database, judged

VERB = Verb.VALIDATE
VALIDATED = f"{VERB}.validated"
FOLDER = Path("live_validations")
SECONDS = 120.0
"""The longest that a look may take; its statements end with it."""
MOST_FINDINGS = 3
MOST_NAMED = 2
"""Of how many rows of a finding the key is told."""
BY_WINDOW = ("generation", "batch_id", "window_start")
"""Columns that say where something is wrong, beside the keys of a table."""


class NotLookedAt(Exception):  # noqa: N818 - it is what became of the look
    """The validation did not come to its end, which another try may."""


class NotAsExpected(Refusal):
    """What serves does not pass its validation."""

    def __init__(self, failed: Mapping[str, Found]) -> None:
        said = "; ".join(f"{name}: {found.sentence}" for name, found in failed.items())
        super().__init__(f"{said}. Nothing was changed. Compare with './kappa reconcile'; docs/runbook.md says more.")


def plan_validate(settings: Settings, hours: int) -> Sequence[Serving]:
    """What is to be looked at. Raises Unreachable, NoRegistry."""
    return books(settings).serving(hours)


def told(planned: Sequence[Serving]) -> str:
    """What is looked at, for people."""
    spans = (f"{one.name} ({one.windows.since:%d %b %H:%M} to {one.windows.until:%d %b %H:%M} UTC)" for one in planned)
    return ", ".join(spans) or "nothing: of no job is a version live that has windows which are final"


def carry_out(
    settings: Settings, planned: Sequence[Serving], by: Author, last_try: bool = True, run: Runner | None = None
) -> str:
    """Look, keep what was found of each version, and say it.

    A look that came to no end is tried again, and counts as a failure the last time: nobody knows then what is served.
    Raises NotLookedAt, NotAsExpected, Unreachable.
    """
    if not planned:
        return f"looked at {told(planned)}."
    outcome = judged(settings, request(settings, planned, by), FOLDER, SECONDS, run)
    if outcome["crashed"] and not last_try:
        raise NotLookedAt(outcome["problem"])
    results = {one.name: found(one, outcome) for one in planned}
    for one in planned:
        books(settings).note(one, results[one.name], VALIDATED, by)
    failed = {name: result for name, result in results.items() if not result.success}
    if failed:
        raise NotAsExpected(failed)
    return f"what serves is as it must be: {told(planned)}; the report: {report_file(outcome)}."


def books(settings: Settings) -> LiveValidations:
    """What Postgres knows of what serves."""
    return LiveValidations(Database(settings.dsn(ROLE)))


def request(settings: Settings, planned: Iterable[Serving], by: Author) -> Request:
    """What the program is asked."""
    asked = (Parity.REPORT, (), tuple(map(subject, planned)))
    return Request(None, by.run_id, by.actor, by.reason, database(settings, SECONDS), *asked)


def subject(of: Serving) -> Subject:
    """A version that serves, held against itself."""
    itself = Held(of.version, of.starts_at, of.windows.until)
    return Subject.of(find(of.job), itself, itself, of.windows)


def found(of: Serving, outcome: Outcome) -> Found:
    """What an outcome says of one of its versions."""
    folder = outcome.get("folder")
    if outcome["crashed"]:
        return Found(False, str(outcome["problem"]).removesuffix("."), folder)
    job = find(of.job)
    against = [finding for finding in blocking(outcome) if finding["suite"] == job.table]
    if not against:
        return Found(True, f"as it must be from {of.windows.since} to {of.windows.until}", folder)
    said = [_said(finding, (*job.keys, *BY_WINDOW)) for finding in against[:MOST_FINDINGS]]
    more = f", and {len(against) - MOST_FINDINGS} more" if len(against) > MOST_FINDINGS else ""
    return Found(False, f"not met: {'; '.join(said)}{more}; report: {report_file(outcome)}", folder)


def _said(finding: Mapping[str, Any], keys: Sequence[str]) -> str:
    """A finding with the keys of its first rows."""
    rows = [{key: row[key] for key in keys if key in row} for row in finding["rows"][:MOST_NAMED]]
    named = " and ".join(", ".join(f"{key} {value}" for key, value in row.items()) for row in rows if row)
    return f"{finding['says']} ({finding['observed']}{f': {named}' if named else ''})"
