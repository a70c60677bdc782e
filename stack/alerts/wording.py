"""What a message says: what is wrong, since when, what it means for readers, the runbook's entry, the next command."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kappa.status.causes import MEANINGS, Cause, readers
from stack.alerts.findings import cause_of
from stack.alerts.incidents import Incident
from stack.alerts.prometheus_rules import MONITOR

LINES = 6
"""So many findings are named; of the others how many there are."""
RUNBOOK = "docs/runbook.md"
SILENT_MONITOR = "monitor does not answer: ..."
"""The entry of one that the settings name, and that is not a process of ours."""


@dataclass(frozen=True)
class Installation:
    """Whose incidents are told: its name, and whether its parts are those that `./kappa up` starts."""

    name: str
    embedded: bool


def opening(incident: Incident, where: Installation) -> tuple[str, str]:
    """Title and body of the message that an incident has begun."""
    meaning = MEANINGS[incident.cause]
    body = [
        *_what(incident),
        f"Since: {_time(incident.since)}",
        f"Readers: {readers(incident.cause, incident.serves)}",
        f'Runbook: {RUNBOOK}, "{meaning.runbook}"',
        f"Next: {next_command(incident.cause, incident.subjects[0], where.embedded)}",
        f"Incident {incident.number} of {where.name}",
    ]
    return f"red: {_title(incident)}", "\n".join(body)


def ending(incident: Incident, where: Installation, at: float) -> tuple[str, str]:
    """Title and body of the message that an incident is over; it stands for itself, should the first one be missed."""
    body = [
        *_what(incident, "It was"),
        f"Since: {_time(incident.since)}",
        f"Over: {_time(incident.seen)}, after {_length(incident.seen - incident.since)}; gone for "
        f"{at - incident.seen:.0f} s",
        f"Incident {incident.number} of {where.name}",
    ]
    return f"over: {_title(incident)}", "\n".join(body)


def next_command(cause: Cause, subject: str, embedded: bool) -> str:
    """What to type first, with the jobs of a subject that names versions, such as `ad_ctr v2, client_spend v5`."""
    jobs = " ".join(name.partition(" ")[0] for name in subject.split(", "))
    return MEANINGS[cause].next_command(jobs, embedded)


def remedy(line: dict[str, Any], embedded: bool) -> tuple[str, str]:
    """Of a red line of `status` the runbook's entry, and what to type first. Of what nobody is told of, a process that
    no stream needs, too."""
    cause = cause_of(line)
    meaning = MONITOR if cause is None else MEANINGS[cause]
    heading = SILENT_MONITOR if cause is None and line["line"] == "part" else meaning.runbook
    first = meaning.next_command("", embedded) if cause is None else next_command(cause, line["of"], embedded)
    return f'{RUNBOOK}, "{heading}"', first


def _title(incident: Incident) -> str:
    subjects = [subject for subject in incident.subjects if subject]
    named = ", ".join(subjects[:3]) + (", ..." if len(subjects) > 3 else "")
    title = MEANINGS[incident.cause].title
    return f"{title}: {named}" if named else title


def _what(incident: Incident, heading: str = "What") -> list[str]:
    shown, others = incident.what[:LINES], len(incident.what) - LINES
    first, *more = [*shown, *([f"and {others} more"] if others > 0 else [])]
    return [f"{heading}: {first}", *(f"  {line}" for line in more)]


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _length(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
