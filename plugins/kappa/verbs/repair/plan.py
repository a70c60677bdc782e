"""The plan of a repair: what each version is wanted to be against what was seen of it, and what that calls for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from kappa.core.changes import Change
from kappa.core.serialization import Serializable
from kappa.core.versions import OVER, Desired, Health, Lease, State, Version

SILENT_SECONDS = 60.0
START_SECONDS = 120.0
"""How long a driver that has just been launched may take to its first heartbeat."""
STUCK_SECONDS = 300.0
MOST_RESTARTS = 3
WITHIN = timedelta(hours=1)
BACK_OFF_SECONDS = (0.0, 60.0, 300.0)
"""Least time since the latest automatic restart, by how many there were within the hour."""
OWN_LINES = ("silent", "held", "stalled")
"""Red lines that say what a repair finds out, and acts on, by itself."""
LOG_GRACE_SECONDS = 300.0
"""What a driver may take to its next commit once the log is back: a pause between tries, a batch of all that waited."""


class Kind(StrEnum):
    """What was found of a version."""

    FINE = "fine"
    HELD = "held"
    ORPHANED = "orphaned"
    STOPPED = "stopped"
    OVER = "over"
    GONE = "gone"
    SILENT = "silent"
    STUCK = "stuck"
    RED = "red"
    LOG_AWAY = "log_away"
    LOG_BACK = "log_back"
    ALONE = "alone"


class Action(StrEnum):
    """What a finding calls for."""

    LEAVE = "leave"
    SETTLE = "settle"
    RESTART = "restart"
    REPLACE = "replace"
    GIVE_UP = "give_up"
    WAIT = "wait"
    REPORT = "report"
    ADD_STANDBY = "add_standby"


ACTS = frozenset({Action.SETTLE, Action.RESTART, Action.REPLACE, Action.GIVE_UP, Action.ADD_STANDBY})
"""Actions that change something; the others are only said."""


@dataclass(frozen=True)
class Observed:
    """A version as it was seen at one time: `driver_alive` is what the cluster says, `lease` one that has not run out
    and is not this repair's own, `change` one that has not ended, `launch_seconds` the age of the open launch;
    `log_answers`: whether the broker did; `standby`: whether a driver stands by for the one that runs, None where none
    is asked for; `no_room`: what the cluster lacks for one, in words."""

    version: Version
    health: Health
    driver_alive: bool
    lease: Lease | None
    change: Change | None
    serves: bool
    now: datetime
    launch_seconds: float | None = None
    log_answers: bool = True
    standby: bool | None = None
    no_room: str = ""


@dataclass(frozen=True)
class Finding(Serializable):
    """What was found of a version, in words, and what it calls for."""

    job: str
    version: int
    kind: Kind
    sentence: str
    action: Action

    @property
    def name(self) -> str:
        """The version for people."""
        return f"{self.job} v{self.version}"


@dataclass(frozen=True)
class RepairPlan(Serializable):
    """What was found, version by version."""

    findings: tuple[Finding, ...]

    @property
    def acts(self) -> tuple[Finding, ...]:
        """The findings that call for an act."""
        return tuple(finding for finding in self.findings if finding.action in ACTS)

    @property
    def touched(self) -> list[tuple[str, int]]:
        """The jobs and versions that the plan changes something of."""
        return [(finding.job, finding.version) for finding in self.acts]

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        return [(finding.name, f"{finding.action}: {finding.sentence}") for finding in self.findings]


def decide(seen: Sequence[Observed]) -> RepairPlan:
    """The plan over all versions that were looked at."""
    return RepairPlan(tuple(finding for one in seen for finding in (examine(one), *red_lines(one))))


def examine(seen: Observed) -> Finding:
    """What one version calls for. What a lease holds is never touched; a change that nobody holds is settled first."""
    version, lease, change = seen.version, seen.lease, seen.change
    if lease:
        return _finding(seen, Kind.HELD, f"{lease.sentence()}; it is left to that run", Action.LEAVE)
    if change:
        half = f"a {change.verb} of run {change.run_id} was left half done ({change.phase}), and nobody holds it"
        return _finding(seen, Kind.ORPHANED, f"{half}: it is settled, forward or back", Action.SETTLE)
    if version.state in OVER:
        return _over(seen)
    if version.desired is Desired.STOPPED:
        return _finding(seen, Kind.STOPPED, "is wanted stopped", Action.LEAVE)
    kind, trouble = _trouble(seen)
    if kind is Kind.FINE:
        return _alone(seen) if seen.standby is False else _finding(seen, kind, trouble, Action.LEAVE)
    return _within_limits(seen, kind, trouble)


def red_lines(seen: Observed) -> tuple[Finding, ...]:
    """The red lines that no restart mends: they are reported, and left to people."""
    lines = [line for line in seen.health.red if line.partition(":")[0] not in OWN_LINES]
    return tuple(_finding(seen, Kind.RED, f"{line}; see docs/runbook.md", Action.REPORT) for line in lines)


def _over(seen: Observed) -> Finding:
    version = seen.version
    if version.state is State.FAILED and seen.serves:
        said = f"has given up, so its numbers stand still; ./kappa start {version.job} gives it a new try"
        return _finding(seen, Kind.OVER, said, Action.REPORT)
    return _finding(seen, Kind.OVER, f"is {version.state}: nothing is to run", Action.LEAVE)


def _trouble(seen: Observed) -> tuple[Kind, str]:
    """What is wrong with a version that is wanted running; FINE if nothing is."""
    health, started = seen.health, _started_seconds(seen)
    if not seen.driver_alive:
        return Kind.GONE, "is wanted running and has no driver"
    if _beats_late(health.beat_seconds, started):
        return Kind.SILENT, f"its driver runs by the cluster, but gave no heartbeat {for_how_long(health.beat_seconds)}"
    unread = health.lag_events > 0 and health.lag_seconds > STUCK_SECONDS
    if unread and _least(health.commit_seconds, started) > STUCK_SECONDS:
        waits = f"{health.lag_events:,} records are unread, the oldest for {health.lag_seconds:.0f} s"
        return Kind.STUCK, f"its driver committed nothing {for_how_long(health.commit_seconds)}, and {waits}"
    return Kind.FINE, "runs and does its work"


def _alone(seen: Observed) -> Finding:
    """Of a version that does its work, for whose driver none stands by as the settings ask."""
    said = "runs and does its work, but no driver stands by for its own, as supervision.warm_standby asks"
    if seen.no_room:
        return _finding(seen, Kind.ALONE, f"{said}: it would take {seen.no_room}", Action.WAIT)
    return _finding(seen, Kind.ALONE, f"{said}: one is started", Action.ADD_STANDBY)


def _within_limits(seen: Observed, kind: Kind, trouble: str) -> Finding:
    """A restart, unless there were too many of them, or the latest is too short a time ago; none, and nothing given up,
    for what the log's absence explains."""
    if not seen.log_answers:
        said = f"{trouble}, and the log cannot be reached: nothing is restarted or given up before it is back"
        return _finding(seen, Kind.LOG_AWAY, said, Action.WAIT)
    if kind is not Kind.GONE and (left := _grace_left(seen)) > 0:
        said = f"{trouble}; the log was away and is back: it is given {left:.0f} s more"
        return _finding(seen, Kind.LOG_BACK, said, Action.WAIT)
    recent = [at for at in seen.health.repairs if seen.now - at < WITHIN]
    if len(recent) >= MOST_RESTARTS:
        said = f"{trouble}, after {len(recent)} automatic restarts within the hour: it is given up (FAILED)"
        return _finding(seen, kind, said, Action.GIVE_UP)
    if recent and (left := BACK_OFF_SECONDS[len(recent)] - (seen.now - recent[-1]).total_seconds()) > 0:
        said = f"{trouble}; automatic restart {len(recent) + 1} of {MOST_RESTARTS} follows in {left:.0f} s"
        return _finding(seen, kind, said, Action.WAIT)
    if kind is Kind.GONE:
        return _finding(seen, kind, f"{trouble}: one is started", Action.RESTART)
    return _finding(seen, kind, f"{trouble}: it is shut out, killed and replaced", Action.REPLACE)


def _grace_left(seen: Observed) -> float:
    """Seconds that a driver still has to commit in, where the log was away since its latest commit."""
    away_at, back_at, committed = seen.health.log_away_at, seen.health.log_back_at, seen.health.commit_seconds
    if away_at is None or (committed is not None and (seen.now - away_at).total_seconds() > committed):
        return 0.0
    return LOG_GRACE_SECONDS - (0.0 if back_at is None else (seen.now - back_at).total_seconds())


def _started_seconds(seen: Observed) -> float | None:
    """How long ago the driver was started at the latest, as far as that is known."""
    repaired = (seen.now - seen.health.repairs[-1]).total_seconds() if seen.health.repairs else None
    known = [seconds for seconds in (seen.launch_seconds, repaired) if seconds is not None]
    return min(known, default=None)


def _beats_late(beat_seconds: float | None, started_seconds: float | None) -> bool:
    """Whether the driver should have given a sign of life by now; one that was just started is given time."""
    age = float("inf") if beat_seconds is None else beat_seconds
    starting = started_seconds is not None and started_seconds < age
    return age > SILENT_SECONDS and not (starting and (started_seconds or 0.0) <= START_SECONDS)


def _least(seconds: float | None, started_seconds: float | None) -> float:
    return min(one if one is not None else float("inf") for one in (seconds, started_seconds))


def for_how_long(seconds: float | None) -> str:
    """A time since something happened, in words; None: it never did."""
    return "yet" if seconds is None else f"for {seconds:.0f} s"


def _finding(seen: Observed, kind: Kind, said: str, action: Action) -> Finding:
    return Finding(seen.version.job, seen.version.version, kind, said, action)
