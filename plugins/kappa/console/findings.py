"""What the monitor finds to be wrong and the registry does not know: parts, the disk, clocks, a backlog that grows."""

from __future__ import annotations

import urllib.request
from http.client import HTTPException

import msgspec

from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.status.causes import Cause

SECONDS = 5.0
"""So long the monitor is waited for: while a part is away, a look at it takes four, and is wanted most."""
MOST_BYTES = 1_000_000
SHOWN = frozenset({
    Cause.DOWN, Cause.SUPERVISOR, Cause.POSTGRES, Cause.KAFKA, Cause.REGISTRY, Cause.SPARK, Cause.AIRFLOW, Cause.DISK,
    Cause.CLOCK, Cause.BACKLOG,
})  # fmt: skip
"""All others are red lines of the registry, or a question, which the page shows of itself."""


class Finding(msgspec.Struct):
    """One thing that is wrong, as docs/alerts.md has it."""

    cause: str
    title: str
    subject: str
    since: str
    detail: str
    readers: str
    runbook: str
    next: str


class Findings(msgspec.Struct):
    """What the monitor finds now, and the causes of which it cannot tell."""

    at: str
    findings: list[Finding]
    unknown: list[str]


class MonitorSilent(Refusal):
    """What the monitor alone knows is not known."""

    def __init__(self, where: str, problem: object) -> None:
        super().__init__(
            f"the monitor does not answer {where} ({problem}). ./kappa status tells more; ./kappa up starts it, "
            "elsewhere ./kappa alerts run."
        )


def told(settings: Settings) -> dict[str, object]:
    """As `read`, or {"silent": why nothing is known}: a page that can be read is no failed one."""
    try:
        return read(settings)
    except MonitorSilent as silent:
        return {"silent": str(silent)}


def read(settings: Settings) -> dict[str, object]:
    """{"at", "findings": [...], "unknown": [cause]}, without what the page shows of itself. Waits for SECONDS at most
    for each answer. Raises MonitorSilent."""
    url = settings.metrics.monitor_url(settings.ports.monitor, settings.is_embedded)
    if url is None:
        raise MonitorSilent("here", "metrics.url in kappa.toml does not say where it is")
    try:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{url}/findings", timeout=SECONDS) as answer:
            found = msgspec.json.decode(answer.read(MOST_BYTES), type=Findings)
    except (OSError, HTTPException, msgspec.DecodeError) as problem:
        raise MonitorSilent(f"at {url}", problem) from problem
    shown = [msgspec.structs.asdict(finding) for finding in found.findings if finding.cause in SHOWN]
    return {"at": found.at, "findings": shown, "unknown": found.unknown}
