"""What a replay costs and whether the log outlives it: records, time, disk, and what the retention leaves over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kappa.core.log.kafka_log import Offsets
from kappa.core.refusals import Refusal
from kappa.core.replays import START_SECONDS, Course, Forecast, Standing, Weighed, forecast, time_left
from kappa.core.serialization import Serializable
from kappa.verbs.start_point import utc

Samples = Mapping[int, tuple[tuple[int, int], ...]]
"""Per partition (offset, append_time in ms) of the first record to be read, and of as many later ones as are known, in
order; none for a partition of which nothing is to be read."""


class LogWillBeTooShort(Refusal):
    """The log holds the range now, and loses a part of it before the replay gets there.

    A start that is safe lies `safe_ms` or later; where that is after `now_ms`, there is none.
    """

    def __init__(self, short_seconds: float, per_s: float, retention_ms: int, safe_ms: int, now_ms: int) -> None:
        later = f"Start at {utc(safe_ms)} or later (--from)," if safe_ms <= now_ms else "No later start helps:"
        super().__init__(
            f"at {per_s:,.0f} records/s the replay would come {duration(short_seconds)} too late for a record that it "
            f"needs: the log keeps {duration(retention_ms / 1000)}. Nothing was staged. {later} read faster (--rate, "
            f"--cores), or lengthen the topic's retention.ms, and ask again."
        )


class NeverCatchesUp(Refusal):
    """The candidate would read no faster than producers write."""

    def __init__(self, job: str, per_s: float, arrivals_per_s: float) -> None:
        super().__init__(
            f"a replay of {job} at {per_s:,.0f} records/s would never catch up with the {arrivals_per_s:,.0f} that "
            f"arrive each second; nothing was staged. Allow it more: --rate above {arrivals_per_s:,.0f}, --cores N, or "
            f"wait for a quieter hour."
        )


@dataclass(frozen=True)
class LogFacts:
    """The log as the price sees it. `ends` is one past the last offset, `retention_ms` None where nothing is ever
    deleted for its age, `arrivals_per_s` what producers add, `before_ms` how far before T it is to be read."""

    ends: Offsets
    samples: Samples
    retention_ms: int | None
    bytes_per_record: float
    arrivals_per_s: float
    now_ms: int
    before_ms: int


@dataclass(frozen=True)
class Weight:
    """What the live version of a job weighs in the database, in its checkpoint and in state; None: not known."""

    weighed: Weighed
    checkpoint_bytes: int
    state_keys: int | None = None


@dataclass(frozen=True)
class Price(Serializable):
    """What a replay costs. `records` and `bytes` are read by all candidates together; `eta_seconds` is up to the last
    of them being ready; `speeds` are records a second by job, `assumed` the jobs whose speed was never measured.

    `retention_slack_seconds` is the least time by which a record is read before the log may drop it; None: it never
    does. `disk_bytes` and `state_keys` are the live versions' (None: not known).
    """

    records: int
    bytes: int
    eta_seconds: float
    disk_bytes: int
    state_keys: int | None
    retention_slack_seconds: float | None
    speeds: Mapping[str, float]
    assumed: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, str]]:
        """The price for people."""
        speeds = ", ".join(f"{job} {speed:,.0f}/s{self._source(job)}" for job, speed in self.speeds.items())
        keys = "not known" if self.state_keys is None else f"about {self.state_keys:,}"
        return [
            ("records", f"{self.records:,}"),
            ("bytes", size(self.bytes)),
            ("ETA", f"{duration(self.eta_seconds)} ({speeds})"),
            ("disk", f"about {size(self.disk_bytes)}, as the live versions"),
            ("state keys", keys),
            ("retention slack", self._slack()),
        ]

    def _source(self, job: str) -> str:
        return ", assumed" if job in self.assumed else ""

    def _slack(self) -> str:
        if self.retention_slack_seconds is None:
            return "the log drops nothing for its age"
        return f"{duration(self.retention_slack_seconds)} at the tightest record"


def price(log: LogFacts, starts: Offsets, weights: Mapping[str, Weight], most: Mapping[str, float]) -> Price:
    """The price of one candidate per job in `weights`, all reading the log from `starts` on.

    `most` is what each one's settings let it read, in records/s.
    A candidate that reads no faster than records arrive has an endless ETA (`math.inf`).
    """
    records = sum(to_read(starts, log.ends).values())
    expected = {job: forecast(weight.weighed, most[job], len(weights)) for job, weight in weights.items()}
    speeds = {job: one.per_s for job, one in expected.items()}
    keys = [weight.state_keys for weight in weights.values() if weight.state_keys is not None]
    slack = min((s for v in speeds.values() if (s := slack_seconds(log, starts, v)) is not None), default=None)
    return Price(
        records=records * len(weights),
        bytes=round(records * len(weights) * log.bytes_per_record),
        eta_seconds=max((eta_seconds(records, one, log.arrivals_per_s) for one in expected.values()), default=0.0),
        disk_bytes=sum(weight.weighed.rows_bytes + weight.checkpoint_bytes for weight in weights.values()),
        state_keys=sum(keys) if keys else None,
        retention_slack_seconds=slack,
        speeds=speeds,
        assumed=tuple(job for job, weight in weights.items() if weight.weighed.replays_per_s is None),
    )


def to_read(starts: Offsets, ends: Offsets) -> Offsets:
    """Records per partition between two vectors of offsets. A partition without a start is none that is read: it was
    added to the topic since."""
    return {p: max(end - starts[p], 0) for p, end in sorted(ends.items()) if p in starts}


def eta_seconds(records: int, expected: Forecast, arrivals_per_s: float) -> float:
    """From the launch to being ready; `math.inf` for a reader that is no faster than the producers."""
    left = time_left(expected, Course(0.0, records, arrivals_per_s))
    return math.inf if left is None else left


def slack_seconds(log: LogFacts, starts: Offsets, per_s: float, starting: float = START_SECONDS) -> float | None:
    """The least time, over the known records, between a record being read and the log being allowed to drop it.

    A batch takes the same share of what each partition has unread, so the record at a share f of its partition is read
    after f of the whole backlog. Negative: the replay comes too late for it. None: the log drops nothing.
    """
    if log.retention_ms is None:
        return None
    waiting = to_read(starts, log.ends)
    takes = sum(waiting.values()) / per_s
    slacks = [
        (appended_ms + log.retention_ms - log.now_ms) / 1000 - starting - takes * share
        for partition, records in waiting.items()
        if records
        for share, appended_ms in _shares(starts[partition], records, log.samples.get(partition, ()), log.now_ms)
    ]
    return min(slacks, default=log.retention_ms / 1000)


def smallest_safe_ms(log: LogFacts, starts: Offsets, per_s: float) -> int:
    """A start (ms) at which the log certainly outlives the replay: what it needs is young enough to be there even
    after all that waits now was read."""
    takes = START_SECONDS + sum(to_read(starts, log.ends).values()) / per_s
    return math.ceil(log.now_ms + 1000 * takes) - (log.retention_ms or 0) + log.before_ms


def check_feasible(costs: Price, log: LogFacts, starts: Offsets) -> None:
    """Pass when the slowest candidate catches up before the log drops what it needs. Raises NeverCatchesUp,
    LogWillBeTooShort."""
    job, slowest = min(costs.speeds.items(), key=lambda item: item[1])
    if slowest <= log.arrivals_per_s:
        raise NeverCatchesUp(job, slowest, log.arrivals_per_s)
    slack = costs.retention_slack_seconds
    if slack is not None and slack < 0:
        safe_ms = -(-smallest_safe_ms(log, starts, slowest) // 60_000) * 60_000
        raise LogWillBeTooShort(-slack, slowest, log.retention_ms or 0, safe_ms, log.now_ms)


def infeasible(name: str, standing: Standing, firsts: Offsets, log: LogFacts, per_s: float | None) -> str | None:
    """Why a replay under way cannot be exact any more, or will not be; None if all is well.

    `firsts` are the log's first offsets now, `log` the log from the version's next offsets on, `per_s` how fast it was
    seen to read (None or 0: not yet known, so nothing is foretold).
    """
    for partition, first in sorted(firsts.items()):
        upcoming = standing.next_offsets.get(partition, first)
        if first > upcoming:
            return f"the log dropped {first - upcoming:,} records of partition {partition} before {name} read them"
    slack = slack_seconds(log, standing.next_offsets, per_s, starting=0.0) if per_s else None
    if slack is not None and slack < 0:
        return f"the log will drop records {duration(-slack)} before {name} gets to them at {per_s:,.0f} records/s"
    return None


def duration(seconds: float) -> str:
    """A length of time for people."""
    if math.isinf(seconds):
        return "for ever"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def size(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def _shares(start: int, records: int, samples: Iterable[tuple[int, int]], now_ms: int) -> Iterable[tuple[float, int]]:
    """The known records of a partition as (share of what is to be read before it, append_time); what is appended now
    is the last."""
    yield from (((offset - start) / records, ms) for offset, ms in samples if start <= offset < start + records)
    yield 1.0, now_ms
