"""Judges one look after another: what is wrong now, and since when, with what a judgement needs of earlier looks."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kappa.status.causes import Cause, kind
from stack.alerts import part_restarts
from stack.alerts.backlog import Backlogs
from stack.alerts.findings import findings, unknown
from stack.alerts.incidents import Finding, Key
from stack.alerts.part_restarts import Starts
from stack.monitor.look import Look


@dataclass(frozen=True)
class Judgement:
    """What one look of `at` (epoch seconds) found. Of `unknown` causes it cannot tell whether they are there.
    `first_seen` has for each key of what is found when the first look of those without a gap saw it (epoch seconds)."""

    at: float
    found: tuple[Finding, ...]
    unknown: frozenset[Cause]
    starts: Starts
    first_seen: Mapping[Key, float]

    def dated(self) -> list[tuple[Finding, float]]:
        """What is to be shown, each with since when it is there (epoch seconds): not what a run explains."""
        return [(one, self._since(one)) for one in self.found if not one.is_expected]

    def _since(self, finding: Finding) -> float:
        return self.first_seen[finding.key] if finding.since is None else finding.since


class Judge:
    """Takes looks in by `judge`, from any thread. `starts`: what is known of when parts were started."""

    def __init__(self, disk_free_mb: int, airflow_url: str, starts: Starts | None = None) -> None:
        self._given = (disk_free_mb, airflow_url)
        self._starts: Starts = starts or {}
        self._backlogs, self._first_seen = Backlogs(), dict[Key, float]()
        self._turn = threading.Lock()
        self._newest: tuple[Look, Judgement] | None = None

    def judge(self, seen: Look) -> Judgement:
        """What this look found; the same look again is judged as before."""
        with self._turn:
            if self._newest is None or self._newest[0] is not seen:
                self._newest = (seen, self._judged(seen))
            return self._newest[1]

    def _judged(self, seen: Look) -> Judgement:
        if seen.registry is not None:
            self._backlogs.take(seen.at, seen.registry.versions)
        self._starts = part_restarts.remembered(self._starts, seen.processes)
        found = findings(seen, self._backlogs, self._starts, *self._given)
        untold = frozenset(unknown(seen, self._backlogs))
        self._first_seen = _dated(self._first_seen, found, untold, seen.at)
        return Judgement(seen.at, tuple(found), untold, self._starts, self._first_seen)


def _dated(
    before: Mapping[Key, float], found: Collection[Finding], untold: Collection[Cause], at: float
) -> dict[Key, float]:
    """When each was first seen; what cannot be told just now may be there all the time."""
    hidden = {kind(cause) for cause in untold}
    kept = {key: first for key, first in before.items() if key[0] in hidden}
    return kept | {finding.key: min(before.get(finding.key, at), at) for finding in found}
