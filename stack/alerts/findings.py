"""What a look found wrong, as findings: its red lines, parts that end again and again, a backlog that grows, a
question that waits, a disk that is nearly full, clocks that differ."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from kappa.core.verb_steps import Verb
from kappa.status.causes import READ_FROM_REGISTRY, READ_FROM_SUPERVISOR, Cause, of_registry
from stack import supervision
from stack.alerts.backlog import Backlogs
from stack.alerts.incidents import Finding
from stack.alerts.part_restarts import Starts, often_restarted
from stack.monitor.look import Look
from stack.monitor.registry import Registry
from stack.services import kafka, postgres, readiness

_OF_STACK = {"down": Cause.DOWN, "registry": Cause.REGISTRY}
_OF_PART = {
    postgres.NAME: Cause.POSTGRES,
    kafka.NAME: Cause.KAFKA,
    supervision.NAME: Cause.SUPERVISOR,
    **dict.fromkeys(readiness.SPARK, Cause.SPARK),
    **dict.fromkeys(readiness.AIRFLOW, Cause.AIRFLOW),
}
_WHOLE = (Cause.DOWN, Cause.SUPERVISOR, Cause.POSTGRES, Cause.KAFKA, Cause.REGISTRY)
"""What is named by its cause alone."""
WHILE_CHANGED = (Cause.SILENT, Cause.STALLED)
"""That no driver beats is what a run does that starts or stops it just now, for five minutes."""
WAITS = "waiting for an answer"
CLOCK_SECONDS = 30.0
"""Half of what finality allows clocks to differ by (contract, section 3)."""


def findings(seen: Look, backlogs: Backlogs, starts: Starts, disk_free_mb: int, airflow_url: str) -> list[Finding]:
    """All that is wrong, a line for each subject and cause; `backlogs` and `starts` have taken this look in."""
    found = [*_red(seen), *_restarts(seen, starts), *_disk(seen, disk_free_mb)]
    if seen.registry is not None:
        found += [*_clock(seen, seen.registry), *_backlogs(seen, backlogs)]
        found += _questions(seen.registry.replays, airflow_url)
    return found


def unknown(seen: Look, backlogs: Backlogs) -> Collection[Cause]:
    """Of what this look cannot tell whether it is there; `backlogs` have taken it in."""
    # Of a stack that is down there is no other line: not that these parts are away, too.
    found = {_OF_PART[part] for part in seen.away & _OF_PART.keys()}
    if seen.registry is None:
        found |= READ_FROM_REGISTRY
    if supervision.NAME in seen.away or any(cause_of(line) is Cause.DOWN for line in seen.red):
        found |= READ_FROM_SUPERVISOR
    return found if backlogs.are_known(seen.at) else found | {Cause.BACKLOG}


def _versions(seen: Look, are_meant: Callable[[Mapping[str, Any]], bool]) -> set[str]:
    """The names of the versions that are meant; none while the registry cannot be read."""
    versions = seen.registry.versions if seen.registry is not None else []
    return {f"{version['job']} v{version['version']}" for version in versions if are_meant(version)}


def expected(seen: Look) -> Callable[[dict[str, Any]], bool]:
    """Tells of a red line whether a run that changes its version explains it."""
    changing = _versions(seen, lambda version: bool(version["is_changing"]))
    return lambda line: cause_of(line) in WHILE_CHANGED and line["of"] in changing


def _red(seen: Look) -> Iterator[Finding]:
    is_expected = expected(seen)
    not_serving = _versions(seen, lambda version: not version["serves"])
    for line in seen.red:
        cause = cause_of(line)
        if cause is not None:
            subject = _subject(cause, line["of"])
            serves = line["of"] not in not_serving
            yield Finding(cause, subject, line["what"], _epoch(line["since"]), serves, is_expected(line))


def cause_of(line: dict[str, Any]) -> Cause | None:
    """The cause of a red line; None for a process that nobody needs to be told of: the monitor, which is alive."""
    if line["line"] in ("process", "part"):
        return _OF_PART.get(line["of"])
    return _OF_STACK.get(line["line"]) or of_registry(line["line"], line["what"])


def _subject(cause: Cause, of: str) -> str:
    return "" if cause in _WHOLE else of


def _restarts(seen: Look, starts: Starts) -> Iterator[Finding]:
    for name, what, since in often_restarted(starts, seen.at):
        if cause := _OF_PART.get(name):
            yield Finding(cause, _subject(cause, name), what, since)


def _disk(seen: Look, disk_free_mb: int) -> Iterator[Finding]:
    if seen.disk.size and seen.disk.free < disk_free_mb * 1_000_000:
        free, size = seen.disk.free // 1_000_000, seen.disk.size // 1_000_000
        yield Finding(Cause.DISK, "", f"{free:,} MB of {size:,} MB are free on the disk of the state folder")


def _clock(seen: Look, registry: Registry) -> Iterator[Finding]:
    """Nothing is appended in the future; that the newest record is old says nothing of a clock."""
    ahead = seen.clock_ahead_seconds or 0.0
    if abs(ahead) > CLOCK_SECONDS:
        direction = "ahead of" if ahead > 0 else "behind"
        yield Finding(Cause.CLOCK, "", f"the database's clock is {abs(ahead):.0f} s {direction} the monitor's")
    appended = registry.append_ahead_seconds or 0.0
    if appended > CLOCK_SECONDS:
        what = f"the newest record that was read has an append_time {appended:.0f} s in the database's future"
        yield Finding(Cause.CLOCK, "", f"{what}: the broker's clock is ahead of it, or was when it wrote the record")


def _backlogs(seen: Look, backlogs: Backlogs) -> Iterator[Finding]:
    for growing in backlogs.growing(seen.at):
        yield Finding(Cause.BACKLOG, growing.name, growing.sentence, growing.since)


def _questions(replays: Iterable[dict[str, Any]], airflow_url: str) -> Iterator[Finding]:
    for replay in replays:
        if replay["phase"] == WAITS:
            names = ", ".join(f"{c['job']} v{c['version']} against v{c['live']}" for c in replay["candidates"])
            page = f"{airflow_url}/dags/{Verb.REPROCESS.dag_id}/runs/{quote(replay['run_id'])}/required_actions"
            what = (
                f"the replay of {names}, asked by {replay['asked_by']}, is valid and waits to be approved or rejected "
                f"by somebody else: read the report and answer at {page}"
            )
            candidates = ", ".join(f"{c['job']} v{c['version']}" for c in replay["candidates"])
            yield Finding(Cause.APPROVAL, candidates, what)


def _epoch(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()
