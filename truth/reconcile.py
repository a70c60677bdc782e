"""From a topic and a database to the verdict: wait, look at one moment, read the log up to it, compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

from jobs.refusals import Refusal
from truth.compare import Compared, Difference, compare, spend_disagreements
from truth.days import Calendar
from truth.decode import LogRecord, decode
from truth.fates import Ledger, Reading
from truth.served import Database, Served, Snapshot
from truth.topic import Topic

_LOOK_EVERY_S = 1.0
_TELL_EVERY = 10_000
_SPEND_JOBS = ("ad_ctr", "client_spend")


class Clock(Protocol):
    """Seconds since some fixed moment, and waiting."""

    def now(self) -> float:
        """Seconds, never going back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds since the machine started."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class NothingLive(Refusal):
    """No live version to hold against the log."""

    def __init__(self, jobs: frozenset[str] | None) -> None:
        which = "no job" if jobs is None else "no job of " + ", ".join(sorted(jobs))
        super().__init__(f"{which} has a live version, so nothing is served. `./kappa deploy JOB` makes one.")


class LogTooShort(Refusal):
    """Retention has removed records that a version read."""

    def __init__(self, served: Served, partition: int, first: int) -> None:
        super().__init__(
            f"{served.job} version {served.version} read partition {partition} from offset "
            f"{served.start[partition]}, but the log begins at {first} by now: what it must serve "
            "can no longer be recomputed."
        )


@dataclass(frozen=True)
class JobVerdict:
    """The outcome for one job: what the log says of what it read, rows compared per view, differences."""

    job: str
    version: int
    read: int
    fates: dict[str, int]
    unread: int
    rows: dict[str, int]
    differences: list[Difference]


@dataclass(frozen=True)
class Verdict:
    """The outcome of a reconciliation; `records` were read from the log."""

    records: int
    seconds: float
    jobs: list[JobVerdict]
    across: list[Difference]

    @property
    def differences(self) -> list[Difference]:
        """All of them."""
        return [difference for job in self.jobs for difference in job.differences] + self.across


def reconcile(
    topic: Topic,
    database: Database,
    jobs: frozenset[str] | None,
    wait_s: float,
    clock: Clock,
    tell: Callable[[int], None] = lambda _: None,
) -> Verdict:
    """Hold what the live versions serve against the log, after waiting at most `wait_s` for them to have
    read all of it.

    Compared is what each had committed at one moment. Raises NothingLive, LogTooShort and the refusals of
    the ports.
    """
    started = clock.now()
    _await_end(topic, database, jobs, wait_s, clock)
    snapshot = database.snapshot(jobs)
    if not snapshot.jobs:
        raise NothingLive(jobs)
    bounds = topic.bounds()
    for served in snapshot.jobs:
        _require_whole(served, bounds)
    ends = {p: max(served.end.get(p, 0) for served in snapshot.jobs) for p in bounds}
    ledgers, count = keep_books(snapshot, topic.records(ends), tell)
    verdicts = _verdicts(snapshot, ledgers, bounds)
    return Verdict(count, clock.now() - started, verdicts, _across(snapshot))


def keep_books(
    snapshot: Snapshot, records: Iterable[LogRecord], tell: Callable[[int], None]
) -> tuple[dict[Reading, Ledger], int]:
    """One ledger for each distinct reading of the snapshot's jobs, and how many records came."""
    ledgers = _ledgers(snapshot)
    takes = [ledger.take for ledger in ledgers.values()]
    count = 0
    for record in records:
        event = decode(record)
        for take in takes:
            take(record, event)
        count += 1
        if count % _TELL_EVERY == 0:
            tell(count)
    return ledgers, count


def reading_of(served: Served) -> Reading:
    """What a live version read and by which rules."""
    return Reading(served.rules, tuple(sorted(served.start.items())), tuple(sorted(served.end.items())))


def _ledgers(snapshot: Snapshot) -> dict[Reading, Ledger]:
    """Jobs with the same rules and offsets share a ledger, which then groups by the fields of each."""
    groupings: dict[Reading, set[tuple[str, ...]]] = {}
    for served in snapshot.jobs:
        mine = groupings.setdefault(reading_of(served), set())
        if served.minutes is not None:
            mine.add(served.keys)
        if served.days is not None:
            mine.add(("client_id",))
    return {reading: Ledger(reading, frozenset(fields)) for reading, fields in groupings.items()}


def _verdicts(
    snapshot: Snapshot, ledgers: Mapping[Reading, Ledger], bounds: Mapping[int, tuple[int, int]]
) -> list[JobVerdict]:
    calendar = Calendar(snapshot.clients)
    verdicts = []
    for served in snapshot.jobs:
        ledger = ledgers[reading_of(served)]
        compared: Compared = compare(served, ledger, calendar)
        unread = sum(max(end - served.end.get(p, 0), 0) for p, (_, end) in bounds.items())
        fates = dict(ledger.records)
        verdict = JobVerdict(
            served.job, served.version, ledger.read, fates, unread, compared.rows, compared.differences
        )
        verdicts.append(verdict)
    return verdicts


def _across(snapshot: Snapshot) -> list[Difference]:
    """Spend per client of the jobs that bill, where they read the same records by the same rules."""
    billing = [served for served in snapshot.jobs if served.job in _SPEND_JOBS]
    return [
        difference
        for first, second in combinations(billing, 2)
        if reading_of(first) == reading_of(second) and first.from_ms is None and second.from_ms is None
        for difference in spend_disagreements(first, second)
    ]


def _await_end(topic: Topic, database: Database, jobs: frozenset[str] | None, wait_s: float, clock: Clock) -> None:
    """Wait until the live versions have committed all that is in the log now, at most `wait_s`."""
    until = clock.now() + wait_s
    ends = {partition: end for partition, (_, end) in topic.bounds().items()}
    while clock.now() < until:
        progress = database.progress()
        mine = [offsets for job, offsets in progress.items() if jobs is None or job in jobs]
        if all(offsets.get(p, 0) >= end for offsets in mine for p, end in ends.items()):
            return
        clock.sleep(_LOOK_EVERY_S)


def _require_whole(served: Served, bounds: Mapping[int, tuple[int, int]]) -> None:
    for partition, offset in served.start.items():
        first = bounds.get(partition, (0, 0))[0]
        if first > offset:
            raise LogTooShort(served, partition, first)
