"""Which versions are stopped and which are retired: what no segment names and no window, pin or run protects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from kappa.core.serialization import Serializable
from kappa.core.versions import OPEN_END, Desired, Segment, State, Version

Key = tuple[str, int]
"""A job and a version of it."""

NEVER_SERVED = frozenset({State.CATCHING_UP, State.CAUGHT_UP, State.STAGED})


class Action(StrEnum):
    """What becomes of a version. A retirement ends its driver first, where it has one."""

    STOP = "stop"
    RETIRE = "retire"
    KEEP = "keep"


@dataclass(frozen=True)
class Windows:
    """How long versions that no longer serve are kept.

    `rollback`: a previous version runs on; `candidate`: so does one whose replay has ended without a promotion;
    `state`: once either is over, rows and checkpoint are kept so much longer.
    """

    rollback: timedelta = timedelta(hours=1)
    state: timedelta = timedelta(hours=24)
    candidate: timedelta = timedelta(hours=1)


AT_ONCE = Windows(timedelta(), timedelta(), timedelta())
"""Windows of a retirement by hand: what is protected is so still."""


@dataclass(frozen=True)
class Verdict(Serializable):
    """What becomes of one version, and why."""

    job: str
    version: int
    action: Action
    why: str

    @property
    def name(self) -> str:
        """The version for people."""
        return f"{self.job} v{self.version}"


@dataclass(frozen=True)
class RetirePlan(Serializable):
    """What becomes of each version that is not retired yet."""

    verdicts: tuple[Verdict, ...]

    def of(self, action: Action) -> tuple[Verdict, ...]:
        """The verdicts of one kind."""
        return tuple(verdict for verdict in self.verdicts if verdict.action is action)

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""
        return [(verdict.name, f"{verdict.action}: {verdict.why}") for verdict in self.verdicts]


def decide_retire(
    versions: Sequence[Version],
    segments: Iterable[Segment],
    pins: Collection[Key],
    ages: Mapping[Key, datetime | None],
    now: datetime,
    windows: Windows = Windows(),
    busy: Mapping[Key, str] | None = None,
) -> RetirePlan:
    """The plan over all versions of all jobs, in their order.

    `ages` say since when a version is previous or failed, or since when its replay has ended; `busy` names, in words,
    the open replay, lease or change of those that have one. A version that only an old segment names is stopped like
    any other, since its windows are final, and never retired; a failed one that is all that a job has, by hand only.
    """
    held = tuple(segments)
    live = {s.job: s.version for s in held if s.to_window == OPEN_END}
    last_good = _last_good(versions, live)
    kept = {**({} if windows == AT_ONCE else _unserved(versions, live)), **(busy or {})}
    verdicts = []
    for version in versions:
        if version.state is State.RETIRED:
            continue
        key = (version.job, version.version)
        why = _protected(version, live, last_good, pins, kept)
        named = any((s.job, s.version) == key for s in held)
        action, reason = (Action.KEEP, why) if why else _by_age(version, ages.get(key), now, windows, named)
        verdicts.append(Verdict(*key, action, reason))
    return RetirePlan(tuple(verdicts))


def kept_until(since: datetime, windows: Windows = Windows()) -> datetime:
    """Until when a version that is previous since then can be rolled back to, if it is not pinned."""
    return since + windows.rollback + windows.state


def _unserved(versions: Sequence[Version], live: Mapping[str, int]) -> dict[Key, str]:
    """Why the newest version of a job that nothing serves is kept where it failed: nothing else says what is wrong."""
    newest = {v.job: v for v in sorted(versions, key=lambda v: v.version)}
    failed = [v for v in newest.values() if v.state is State.FAILED and v.job not in live]
    why = "it failed, and nothing serves the job: its red line stays until a deployment takes its place"
    return {(v.job, v.version): why for v in failed}


def _protected(
    version: Version,
    live: Mapping[str, int],
    last_good: Mapping[str, int],
    pins: Collection[Key],
    kept: Mapping[Key, str],
) -> str | None:
    """What forbids any act on a version, if anything does."""
    key = (version.job, version.version)
    if live.get(version.job) == version.version or version.state is State.LIVE:
        return "it serves the live end"
    if key in kept:
        return kept[key]
    if key in pins:
        return "it is pinned"
    if last_good.get(version.job) == version.version:
        return "it is the last good one: the live version has failed"
    return None


def _last_good(versions: Sequence[Version], live: Mapping[str, int]) -> dict[str, int]:
    """By job the version that would be gone back to, where the one at the live end has failed."""
    failed = {v.job for v in versions if v.state is State.FAILED and live.get(v.job) == v.version}
    previous = [v for v in versions if v.job in failed and v.state is State.PREVIOUS]
    return {v.job: v.version for v in sorted(previous, key=lambda v: v.version)}


def _by_age(
    version: Version, since: datetime | None, now: datetime, windows: Windows, named: bool
) -> tuple[Action, str]:
    if version.state is State.STAGED and since is None:
        return Action.KEEP, "it is staged: its deployment is not finished"
    if since is None:
        return Action.KEEP, f"it is {version.state}, and since when is not known"
    running = windows.candidate if version.state in NEVER_SERVED else windows.rollback
    stops, retires = since + running, since + running + windows.state
    what = _what(version, since)
    if now >= retires and not named:
        return Action.RETIRE, f"{what}; its windows ended at {_at(retires)}"
    if now >= stops and version.desired is Desired.RUNNING and version.state is not State.FAILED:
        return Action.STOP, f"{what}; {'a segment names it, so it' if named else 'it'} is kept, but runs no more"
    if named:
        return Action.KEEP, f"{what}, and a segment names it: readers see its windows"
    until = stops if now < stops and version.desired is Desired.RUNNING else retires
    return Action.KEEP, f"{what}; {'it runs on' if until == stops else 'rows and state are kept'} until {_at(until)}"


def _what(version: Version, since: datetime) -> str:
    if version.state is State.PREVIOUS:
        return f"previous since {_at(since)}"
    if version.state is State.FAILED:
        return f"it failed, and serves nothing new since {_at(since)}"
    return f"not promoted, its replay ended at {_at(since)}"


def _at(instant: datetime) -> str:
    return f"{instant:%Y-%m-%dT%H:%M:%SZ}"
