"""Let versions catch up with the log: start their drivers, read how far they are, and say when they are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kappa.core.audit import Author, Entry
from kappa.core.log.kafka_log import Offsets
from kappa.core.refusals import Refusal
from kappa.core.replays import NOTHING_MEASURED, Forecast, Standing, forecast
from kappa.core.serialization import Serializable
from kappa.core.verb_steps import ReplayStep, Verb
from kappa.core.versions import OVER, State
from kappa.platform import Platform
from kappa.unavailable import Unreachable
from kappa.verbs import lease
from kappa.verbs.drivers import launch as launching
from kappa.verbs.promote.live_end import live_lag_seconds
from kappa.verbs.replay.candidate import most_per_s
from kappa.verbs.replay.price import LogFacts, infeasible
from kappa.verbs.replay.progress import CatchUp, Progress, Reading, foretelling_rate, judge, together

POLL_SECONDS = 3.0
KEPT = timedelta(minutes=6)
"""How long a reading counts: rate and ETA are over as long. It is more than STILL_SECONDS: who stands still is seen. Of
who has committed nothing yet all count."""
FEASIBLE_SECONDS = 30.0
LEAST_SECONDS, MOST_SECONDS = 30 * 60.0, 48 * 3600.0
"""Bounds of the time that a catch-up is given: three times the ETA, and ten minutes."""
END_STATES = frozenset({CatchUp.READY, CatchUp.FAILING})


class NeverReady(Refusal):
    """A version did not catch up, or cannot any more."""

    def __init__(self, said: str) -> None:
        super().__init__(
            f"not caught up: {said}. The live versions serve on as they did. Mend the cause, then ask again."
        )


@dataclass(frozen=True)
class Pursuit(Serializable):
    """Versions that are to catch up, by job: `expected` records each, since and until when, and what earlier ones make
    expect of each. `planned_at` is when their move was planned, None for a replay, which is planned once. It is kept in
    the audit."""

    versions: Mapping[str, int]
    expected: int
    began: datetime
    deadline: datetime
    forecasts: Mapping[str, Forecast] = field(default_factory=dict)
    planned_at: datetime | None = None

    def judge(self, job: str, readings: Sequence[Reading]) -> Progress:
        """How the version of one job catches up, by its readings."""
        measured = self.forecasts.get(job, NOTHING_MEASURED)
        return judge(readings, self.expected, self.began, self.deadline, measured)


def launch(
    platform: Platform,
    verb: str,
    versions: Mapping[str, int],
    expected: int,
    eta_seconds: float,
    by: Author,
    planned_at: datetime | None = None,
) -> Pursuit:
    """Have the versions' drivers running; the deadline is that of the first try since the run's plan was made. A
    roll-back gives one that served before and gave up a new try.

    Raises NeverReady, NotHolder, what `launch.launch` raises.
    """
    lease.check_all(platform, versions, by)
    for job, number in sorted(versions.items()):
        state = _state(platform, verb, job, number)
        if state in OVER:
            raise NeverReady(f"{job} v{number} is {state}{_why(platform, job, number)}")
        if state is State.STAGED:
            platform.registry.set_state(job, number, State.STAGED, State.CATCHING_UP)
    began = max(launching.launch(platform, job, number).intended_at for job, number in sorted(versions.items()))
    known = pursuit_of(platform, verb, by)
    if known is not None and known.planned_at == planned_at:
        return Pursuit(versions, expected, began, known.deadline, known.forecasts, planned_at)
    forecasts = forecasts_of(platform, versions)
    made = Pursuit(versions, expected, began, platform.registry.now() + _patience(eta_seconds), forecasts, planned_at)
    for job, number in sorted(versions.items()):
        platform.registry.record(Entry(by, f"{verb}.launched", job, number, made.to_json()))
    return made


def pursuit_of(platform: Platform, verb: str, by: Author) -> Pursuit | None:
    """What this run pursues, once it has launched it; the newest, where it was planned anew."""
    told = [entry for entry in platform.registry.entries(by.run_id) if entry.action == f"{verb}.launched"]
    return Pursuit.from_json(told[-1].evidence) if told else None


@dataclass
class Watch:
    """Looks at a pursuit again and again. What it remembers is a few minutes of readings: made anew, it takes longer to
    know a rate and to call a version ready or stuck, and decides the same."""

    platform: Platform
    pursuit: Pursuit
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    rates: dict[str, float | None] = field(default_factory=dict)
    checked_at: datetime | None = None

    def look(self) -> Progress:
        """The progress of all versions together, now. Raises Unreachable, UnknownVersion."""
        now = self.platform.registry.now()
        versions = sorted(self.pursuit.versions.items())
        standings = {job: self.platform.releases.standing(job, number) for job, number in versions}
        log = self._log(now, standings)
        seen: dict[str, Progress] = {}
        for job, number in versions:
            self._take(job, self._reading(job, number, now, standings[job], log))
            seen[job] = self.pursuit.judge(job, self.readings[job])
            self.rates[job] = foretelling_rate(self.readings[job])
        return together(seen)

    def _take(self, job: str, reading: Reading) -> None:
        kept = [one for one in self.readings.get(job, []) if reading.is_starting or one.at > reading.at - KEPT]
        self.readings[job] = [*kept, reading]

    def _reading(self, job: str, number: int, now: datetime, standing: Standing, log: _LogView | None) -> Reading:
        version = launching.version_of(self.platform, job, number)
        failure = "; ".join(self.platform.registry.red_lines(job, number)) or None
        why = log and log.infeasible(f"{job} v{number}", standing, self.rates.get(job))
        ends = log.ends if log else None
        live = live_lag_seconds(self.platform, job, now, ends)
        return Reading(now, version.state, standing, ends, why or None, failure, live, log is not None)

    def _log(self, now: datetime, standings: Mapping[str, Standing]) -> _LogView | None:
        """The log's own word; None while the broker does not answer, which the drivers notice, too."""
        due = self.checked_at is None or (now - self.checked_at).total_seconds() >= FEASIBLE_SECONDS
        try:
            view = _look_at_log(self.platform, standings, now, due)
        except Unreachable:
            return None
        self.checked_at = now if due else self.checked_at
        return view


@dataclass(frozen=True)
class _LogView:
    """The log's ends and, where it was looked at closely, its beginnings and the ages of what is read next."""

    ends: Offsets
    firsts: Offsets
    facts: LogFacts | None

    def infeasible(self, name: str, standing: Standing, per_s: float | None) -> str | None:
        """Why the log no longer allows it, as far as that was looked at."""
        return infeasible(name, standing, self.firsts, self.facts, per_s) if self.facts else None


def wait(platform: Platform, pursuit: Pursuit, hold: Callable[[], None] = lambda: None) -> Progress:
    """Look until the pursuit has come to one of its ends; the deadline is one. `hold` is called after each look: it
    renews what the run holds, which else would end before a catch-up of hours does. Raises what `hold` raises."""
    watch = Watch(platform, pursuit)
    while (progress := watch.look()).state not in END_STATES:
        hold()
        platform.clock.sleep(POLL_SECONDS)
    return progress


def caught_up(platform: Platform, verb: str, versions: Mapping[str, int], progress: Progress, by: Author) -> None:
    """Take the end of a pursuit: candidates become CAUGHT_UP. Raises NeverReady, NotHolder."""
    lease.check_all(platform, versions, by)
    if progress.state is not CatchUp.READY:
        raise NeverReady(progress.sentence)
    for job, number in sorted(versions.items()):
        platform.registry.set_state(job, number, State.CATCHING_UP, State.CAUGHT_UP)
        platform.registry.record(Entry(by, ReplayStep.CATCH_UP.action(verb), job, number, progress.to_json()))


def forecasts_of(platform: Platform, versions: Mapping[str, int]) -> dict[str, Forecast]:
    """By job what earlier replays of this installation make expect of versions that catch up at once. Raises
    UnknownVersion."""
    most = {job: most_per_s(launching.version_of(platform, job, number).settings) for job, number in versions.items()}
    weighed = {job: platform.releases.weighed(job, number) for job, number in versions.items()}
    return {job: forecast(weighed[job], most[job], len(versions)) for job in versions}


def _look_at_log(platform: Platform, standings: Mapping[str, Standing], now: datetime, closely: bool) -> _LogView:
    with platform.open_log() as log:
        ends = log.ends()
        if not closely:
            return _LogView(ends, {}, None)
        firsts, least = log.earliest(), _least(standings)
        # Where the next record is gone already no age is asked for: a consumer sent there would wait for nothing.
        there = {p: offset for p, offset in least.items() if firsts.get(p, 0) <= offset < ends.get(p, 0)}
        ages = {p: log.append_time(p, offset) for p, offset in there.items()}
        samples = {p: ((there[p], at_ms),) if at_ms is not None else () for p, at_ms in ages.items()}
        now_ms = round(now.timestamp() * 1000)
        facts = LogFacts(ends, samples, log.describe().retention_ms, 0.0, 0.0, now_ms, before_ms=0)
        return _LogView(ends, firsts, facts)


def _least(standings: Mapping[str, Standing]) -> Offsets:
    """Per partition what the version that is furthest behind reads next."""
    least: Offsets = {}
    for standing in standings.values():
        for partition, offset in standing.next_offsets.items():
            least[partition] = min(offset, least.get(partition, offset))
    return least


def _patience(eta_seconds: float) -> timedelta:
    asked = MOST_SECONDS if math.isinf(eta_seconds) else 3 * eta_seconds + 600.0
    return timedelta(seconds=min(max(asked, LEAST_SECONDS), MOST_SECONDS))


def _state(platform: Platform, verb: str, job: str, number: int) -> State:
    """The state to start a version from."""
    if verb == Verb.ROLLBACK:
        return platform.registry.revive_previous(job, number)
    return launching.version_of(platform, job, number).state


def _why(platform: Platform, job: str, number: int) -> str:
    lines = platform.registry.red_lines(job, number)
    return f" ({'; '.join(lines)})" if lines else ""
