"""How a candidate catches up, told from several readings: hydrating, lagging, ready or failing, with rate and ETA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from kappa.core.log.kafka_log import Offsets
from kappa.core.replays import Course, Forecast, Standing, time_left
from kappa.core.serialization import Serializable
from kappa.core.versions import State
from kappa.verbs.replay.price import duration, to_read

READY_SECONDS = 5.0
"""A hand-over begins at most this far behind what it waits for, the live version (architecture, section 4)."""
READY_READINGS = 3
LAGGING_SECONDS = 60.0
STILL_SECONDS, STARTING_SECONDS = 300.0, 900.0
"""So long without a commit, while records are unread and all parts answer, is no slow batch, or no slow start."""
OVERDUE_SECONDS = 300.0
"""A deadline counts for who was watched for so long before it, or else since: an outage takes no time from anybody."""
RATED_SECONDS = 180.0
"""So long it is watched before its rate foretells anything: after an outage its driver pauses, and begins anew."""
BLIND_SECONDS = 30.0
"""Of readings that lie further apart nobody knows whether the parts answered in between."""


class CatchUp(StrEnum):
    """How far a candidate has come, the worst first."""

    FAILING = "failing"
    HYDRATING = "hydrating"
    LAGGING = "lagging"
    READY = "ready"


@dataclass(frozen=True)
class Reading:
    """A candidate as it was seen at one time. `log_ends` are the log's own, None where they were not asked for: then
    the driver's last word counts. `infeasible` says why the log no longer allows it (`price.infeasible`);
    `live_lag_seconds` is the lag of the version that serves; `heard` is False where the log was asked and did not
    answer. Where the database does not, there is no reading."""

    at: datetime
    state: State
    standing: Standing
    log_ends: Offsets | None = None
    infeasible: str | None = None
    failure: str | None = None
    live_lag_seconds: float = 0.0
    heard: bool = True

    @property
    def unread(self) -> int:
        """Records that wait; a driver that is gone says nothing of those that came since."""
        by_log = sum(to_read(self.standing.next_offsets, self.log_ends).values()) if self.log_ends else 0
        return max(self.standing.lag_events, by_log)

    @property
    def lag_seconds(self) -> float | None:
        """How long the oldest unread record waits at most; None before the whole log was seen once.

        What came since the driver had read all there was, came since its last batch.
        """
        committed_at = self.standing.committed_at
        if self.standing.complete_through is None:
            return None
        if not self.unread:
            return 0.0
        if self.standing.lag_events:
            return self.standing.lag_seconds
        return (self.at - committed_at).total_seconds() if committed_at else None

    @property
    def is_starting(self) -> bool:
        """Whether it has not committed anything yet."""
        return self.standing.committed_at is None and not self.standing.read

    @property
    def is_close(self) -> bool:
        """Whether a hand-over would not wait long: on a busy machine the live version is some seconds behind, too."""
        lag = self.lag_seconds
        return lag is not None and lag - self.live_lag_seconds <= READY_SECONDS


@dataclass(frozen=True)
class Progress(Serializable):
    """How far a candidate has come: records read and to be read in all, records/s, and seconds to the end (None: not
    known, or it does not come nearer)."""

    state: CatchUp
    done: int
    total: int
    rate_per_s: float
    eta_s: float | None
    sentence: str


def judge(
    readings: Sequence[Reading], expected: int, began: datetime, deadline: datetime, measured: Forecast
) -> Progress:
    """How a candidate catches up, by its readings, the newest last (at least one).

    `expected` is the number of records that the plan counted, `began` the time of its launch, `measured` what earlier
    replays make expect of it. Rate and ETA are over the readings from its first commit on: some minutes are enough.
    """
    newest = readings[-1]
    done, total = newest.standing.read, max(newest.standing.read + newest.unread, expected)
    reading = _since_its_start(readings)
    rate, eta = _rate(reading), time_left(measured, _course(reading, began, total - done))
    state, why = _state(readings, began, deadline)
    return Progress(state, done, total, rate, eta, f"{state}: {why or _sentence(newest, done, total, rate, eta)}")


def foretelling_rate(readings: Sequence[Reading]) -> float | None:
    """The records a second by which it may be foretold when it reads what; None where it was not watched for long."""
    reading = _since_its_start(readings)
    return _rate(reading) if _watched_seconds(reading, reading[0].at) >= RATED_SECONDS else None


def together(progress: Mapping[str, Progress]) -> Progress:
    """The progress of a replay of several jobs: the state of the one that is worst off, the records of all."""
    states = list(CatchUp)
    worst = min(progress.values(), key=lambda one: states.index(one.state))
    etas = [one.eta_s for one in progress.values()]
    known = [eta for eta in etas if eta is not None]
    return Progress(
        state=worst.state,
        done=sum(one.done for one in progress.values()),
        total=sum(one.total for one in progress.values()),
        rate_per_s=sum(one.rate_per_s for one in progress.values()),
        eta_s=max(known) if len(known) == len(etas) else None,
        sentence="; ".join(f"{job} {one.sentence}" for job, one in sorted(progress.items())),
    )


def _state(readings: Sequence[Reading], began: datetime, deadline: datetime) -> tuple[CatchUp, str | None]:
    newest = readings[-1]
    if reason := _given_up(newest):
        return CatchUp.FAILING, reason
    if _is_ready(readings):
        return CatchUp.READY, None
    if reason := _overdue(readings, deadline) or _stands_still(readings, began):
        return CatchUp.FAILING, reason
    lag = newest.lag_seconds
    near = lag is not None and lag <= LAGGING_SECONDS
    return (CatchUp.LAGGING if near else CatchUp.HYDRATING), None


def _given_up(newest: Reading) -> str | None:
    """Why it cannot become ready any more, whatever is waited for."""
    if newest.state is State.FAILED:
        return f"its driver gave up ({newest.failure or 'no reason is known'})"
    if newest.state is State.RETIRED:
        return "it was retired meanwhile"
    return newest.infeasible


def _is_ready(readings: Sequence[Reading]) -> bool:
    """Whether it was close enough to the end in enough readings in a row, having seen the whole log in each."""
    latest = readings[-READY_READINGS:]
    return len(latest) == READY_READINGS and all(reading.is_close for reading in latest)


def _overdue(readings: Sequence[Reading], deadline: datetime) -> str | None:
    """Why it has had its time; not before it was seen for long enough to be found ready."""
    newest = readings[-1]
    seen = _watched_seconds(readings, deadline - timedelta(seconds=OVERDUE_SECONDS))
    if newest.at < deadline or seen < OVERDUE_SECONDS:
        return None
    return f"not ready by {deadline:%Y-%m-%dT%H:%M:%SZ}, with {newest.unread:,} records unread"


def _stands_still(readings: Sequence[Reading], began: datetime) -> str | None:
    """Why it is taken to be stuck; where nothing is unread, no batch is to be expected."""
    newest = readings[-1]
    still = _watched_seconds(readings, max(began, newest.standing.committed_at or began))
    never_read = newest.standing.complete_through is None
    if still <= (STARTING_SECONDS if newest.is_starting else STILL_SECONDS) or not (newest.unread or never_read):
        return None
    since = "its launch" if newest.standing.committed_at is None else "its last one"
    unread = f"with {newest.unread:,} records unread"
    return f"no batch was committed for {duration(still)} since {since}, outages not counted, {unread}"


def _watched_seconds(readings: Sequence[Reading], since: datetime) -> float:
    """The time since then in which it could have committed. An outage is no fault of the candidate's, however long."""
    return sum((later.at - max(earlier.at, since)).total_seconds() for earlier, later in _watched(readings, since))


def _watched(readings: Sequence[Reading], since: datetime) -> list[tuple[Reading, Reading]]:
    """Two and two, the readings that follow closely on one another and both heard all parts."""
    return [
        (one, other)
        for one, other in pairwise(readings)
        if other.at > since and one.heard and other.heard and (other.at - one.at).total_seconds() <= BLIND_SECONDS
    ]


def _rate(readings: Sequence[Reading]) -> float:
    """Records a second; neither an outage nor what was read in it counts."""
    seconds = _watched_seconds(readings, readings[0].at)
    read = sum(other.standing.read - one.standing.read for one, other in _watched(readings, readings[0].at))
    return read / seconds if seconds > 0 else 0.0


def _since_its_start(readings: Sequence[Reading]) -> list[Reading]:
    return [one for one in readings if not one.is_starting] or [readings[-1]]


def _commits(readings: Sequence[Reading]) -> list[Reading]:
    """The first reading of each commit that was seen."""
    return [one for at, one in enumerate(readings) if not at or one.standing.read != readings[at - 1].standing.read]


def _course(reading: Sequence[Reading], began: datetime, unread: int) -> Course:
    """By whole batches: in the midst of one nothing seems to come nearer."""
    commits, newest = _commits(reading), reading[-1]
    first, last = commits[0], commits[-1]
    grown = (newest.standing.read + newest.unread) - (reading[0].standing.read + reading[0].unread)
    seconds = (newest.at - reading[0].at).total_seconds()
    return Course(
        age_s=(newest.at - began).total_seconds(),
        unread=unread,
        arrivals_per_s=max(grown / seconds, 0.0) if seconds > 0 else 0.0,
        read=last.standing.read - first.standing.read,
        reading_s=(_committed_at(last) - _committed_at(first)).total_seconds(),
        idle_s=None if newest.is_starting else (newest.at - _committed_at(last)).total_seconds(),
    )


def _committed_at(reading: Reading) -> datetime:
    return reading.standing.committed_at or reading.at


def _sentence(newest: Reading, done: int, total: int, rate: float, eta: float | None) -> str:
    if newest.is_starting:
        left = "" if eta is None else f", {_remaining(eta)}"
        return f"its driver is starting, {total:,} records to read{left}"
    share = f" ({done / total:.0%})" if total else ""
    remaining = "nothing is unread" if not newest.unread else _remaining(eta)
    return f"{done:,} of {total:,} records{share}, {rate:,.0f}/s, {remaining}"


def _remaining(eta: float | None) -> str:
    return "not coming nearer yet" if eta is None else f"ready in about {duration(eta)}"
