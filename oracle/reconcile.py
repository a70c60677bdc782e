"""From a topic and a database to the verdict: wait, look at one moment, read the log, compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kappa.core.refusals import Refusal
from oracle.agreement import disagreements
from oracle.compare import Difference, compare
from oracle.completeness import Serving, standing
from oracle.days import Calendar
from oracle.decode import LogRecord, decode
from oracle.fates import Ledger, Reading
from oracle.served import Database, Snapshot
from oracle.topic import Topic

_LOOK_EVERY_S = 1.0
_TELL_EVERY = 10_000


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
    """No live version to hold against the log: of none of the jobs (None), or of some that were asked for."""

    def __init__(self, jobs: frozenset[str] | None) -> None:
        which = "no job" if jobs is None else "no job called " + " or ".join(sorted(jobs))
        super().__init__(
            f"{which} has a live version, so nothing was compared. './kappa status' has those that have; './kappa "
            "deploy JOB' makes one."
        )


@dataclass(frozen=True)
class JobVerdict:
    """The outcome for one job: of its live version what the log says that it read and what is unread; over all versions
    that serve windows of it (`serving`) the rows compared per view, the differences, and in words what was not
    compared."""

    job: str
    version: int
    read: int
    fates: dict[str, int]
    unread: int
    rows: dict[str, int]
    differences: list[Difference]
    serving: list[int] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Verdict:
    """The outcome of a reconciliation; `records` were read from the log. `across`: where two jobs do not agree;
    `across_uncompared`: in words, which of their spend could not be compared."""

    records: int
    seconds: float
    jobs: list[JobVerdict]
    across: list[Difference]
    across_uncompared: list[str] = field(default_factory=list)

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
    """Hold all that is served against the log, after waiting at most `wait_s` for the live versions to have
    read all of it.

    Compared is what each had committed at one moment. Raises NothingLive and the refusals of the ports.
    """
    started = clock.now()
    _await_end(topic, database, jobs, wait_s, clock)
    snapshot = database.snapshot(jobs)
    missing = (jobs or frozenset()) - {served.job for served in snapshot.jobs}
    if missing or not snapshot.jobs:
        raise NothingLive(missing or None)
    ends = {partition: end for partition, (_, end) in topic.bounds().items()}
    ledgers, count = keep_books(snapshot, topic.records(ends), tell)
    servings, calendar = _servings(snapshot, ledgers, ends), Calendar(snapshot.clients)
    verdicts = [_verdict(serving, calendar, ends, snapshot.at_ms) for serving in servings.values()]
    across, across_uncompared = disagreements(servings, calendar)
    return Verdict(count, clock.now() - started, verdicts, across, across_uncompared)


def keep_books(
    snapshot: Snapshot, records: Iterable[LogRecord], tell: Callable[[int], None]
) -> tuple[dict[Reading, Ledger], int]:
    """One ledger for each distinct reading of the snapshot's versions, and how many records came."""
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


def _ledgers(snapshot: Snapshot) -> dict[Reading, Ledger]:
    """Versions with the same rules and offsets share a ledger, which then groups by the fields of each."""
    groupings: dict[Reading, set[tuple[str, ...]]] = {}
    kept: set[Reading] = set()
    for served in snapshot.jobs:
        for version in served.versions.values():
            mine = groupings.setdefault(version.reading, set())
            if served.minutes is not None:
                mine.add(served.keys)
            if served.days is not None:
                mine.add(("client_id",))
        if served.quarantine is not None:
            kept.add(served.live.reading)
    return {reading: Ledger(reading, frozenset(fields), reading in kept) for reading, fields in groupings.items()}


def _servings(snapshot: Snapshot, ledgers: Mapping[Reading, Ledger], ends: Mapping[int, int]) -> dict[str, Serving]:
    """Each job's versions with their ledgers."""
    return {
        served.job: Serving(
            served,
            {
                number: standing(version, ledgers[version.reading], ends, snapshot.at_ms)
                for number, version in served.versions.items()
            },
        )
        for served in snapshot.jobs
    }


def _verdict(serving: Serving, calendar: Calendar, ends: Mapping[int, int], at_ms: int) -> JobVerdict:
    served, live = serving.served, serving.served.live
    compared = compare(serving, calendar, at_ms)
    ledger = serving.standings[live.version].ledger
    return JobVerdict(
        served.job,
        live.version,
        ledger.read,
        dict(ledger.records),
        sum(max(end - live.end.get(partition, 0), 0) for partition, end in ends.items()),
        compared.rows,
        compared.differences,
        [segment.version for segment in served.segments],
        compared.uncompared,
    )


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
