"""A reader of both serving views, at work all the time: what it must never see (I6, and I4 of finals)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from bench.beside import Beside
from kappa.core.installation.settings import Settings
from stack.waiting import until

JOBS = ("ad_ctr", "client_spend")
POLL_SECONDS = 0.2
LEISURE = 8
"""So many times as long as a look takes is nothing looked at: with 2 the reader was a sixth of all that a replay on the
real stack cost the processor."""
END_SECONDS = 60
MINUTES = """
select client_id, window_start::text, count(*), sum(impressions), sum(clicks), sum(spend_micros), bool_and(is_final)
from serving.ad_ctr_minute group by client_id, window_start"""
DAYS = "select client_id, budget_day::text, impressions, clicks, spend_micros from serving.client_spend_day"
VERSIONS = "select job, version from serving.freshness where job = any(%s)"

Key = tuple[str, str, str]
"""View, client, and its minute or day."""
Counts = tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """What one transaction saw: the counts by key, which of them are final, and the version of each job."""

    versions: Mapping[str, int]
    counts: Mapping[Key, Counts]
    finals: frozenset[Key] = frozenset()


@dataclass(frozen=True)
class Wrong:
    """Something that a reader must not see from one look to the next; `moved`: other versions serve since."""

    what: str
    key: Key
    before: Counts
    after: Counts | None
    moved: bool


def wrongs(before: Snapshot, after: Snapshot) -> Iterator[Wrong]:
    """Counts that fell or are gone, and finals that changed."""
    moved = before.versions != after.versions
    for key, counts in before.counts.items():
        now = after.counts.get(key)
        if now is None or any(new < old for new, old in zip(now, counts, strict=True)):
            yield Wrong("fell", key, counts, now, moved)
        elif key in before.finals and now != counts:
            yield Wrong("a final changed", key, counts, now, moved)


@dataclass
class Seen:
    """What a reader saw: each list of versions in its turn, what was wrong, how many looks, the longest gap (s)."""

    versions: list[Mapping[str, int]] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)
    looks: int = 0
    longest_gap: float = 0.0


class _Reader(Beside):
    """Polls in one REPEATABLE READ transaction a look."""

    def __init__(self, settings: Settings, jobs: Sequence[str], every_seconds: float) -> None:
        super().__init__("reader", END_SECONDS)
        self._settings, self._jobs, self._every = settings, list(jobs), every_seconds
        self.seen = Seen()

    def work(self) -> None:
        """Look again and again."""
        with psycopg.connect(self._settings.dsn("kappa_reader")) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            before, ended = None, time.monotonic()
            while not self.stopping.is_set():
                begun = time.monotonic()
                now = _look(connection, self._jobs)
                self._note(before, now, time.monotonic() - ended)
                before, ended = now, time.monotonic()
                self.stopping.wait(max(begun + self._every - ended, LEISURE * (ended - begun)))

    def _note(self, before: Snapshot | None, now: Snapshot, gap: float) -> None:
        if before is None or now.versions != before.versions:
            self.seen.versions.append(now.versions)
        self.seen.wrong += wrongs(before, now) if before else ()
        self.seen.longest_gap = max(self.seen.longest_gap, gap)
        self.seen.looks += 1


@contextmanager
def reading(settings: Settings, jobs: Sequence[str] = JOBS, every_seconds: float = POLL_SECONDS) -> Iterator[Seen]:
    """With a reader at work, who looks at the versions of these jobs; its own failure is the test's."""
    with _Reader(settings, jobs, every_seconds) as reader:
        yield reader.seen


def await_looks(seen: Seen, more: int = 3) -> None:
    """Wait until the reader has looked so often again; fails the test if it does not: it waits for somebody."""
    wanted = seen.looks + more
    came = until(lambda: seen.looks >= wanted, END_SECONDS / 2, 0.02)
    assert came, f"the reader waits: {seen.looks - wanted + more} of {more} looks within {END_SECONDS // 2} s"


def _look(connection: psycopg.Connection[Any], jobs: list[str]) -> Snapshot:
    """Both views in a transaction of their own."""
    with connection.transaction():
        versions = _versions(connection, jobs)
        minutes, days = connection.execute(MINUTES).fetchall(), connection.execute(DAYS).fetchall()
        assert _versions(connection, jobs) == versions, "other versions serve within one transaction"
    counts = {("ad_ctr_minute", row[0], row[1]): tuple(map(int, row[2:6])) for row in minutes}
    counts |= {("client_spend_day", row[0], row[1]): tuple(map(int, row[2:])) for row in days}
    finals = frozenset(("ad_ctr_minute", row[0], row[1]) for row in minutes if row[6])
    return Snapshot(versions, counts, finals)


def _versions(connection: psycopg.Connection[Any], jobs: list[str]) -> dict[str, int]:
    return dict(connection.execute(VERSIONS, [jobs]).fetchall())
