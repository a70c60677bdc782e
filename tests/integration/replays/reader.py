"""A reader of both serving views, at work all the time: what it must never see (I6, and I4 of finals)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import psycopg

from jobs.settings import Settings

POLL_SECONDS = 0.2
LEISURE = 2
"""So many times as long as a look takes is nothing looked at: on a busy machine the reader is not what keeps it so."""
END_SECONDS = 60
MINUTES = """
select client_id, window_start::text, count(*), sum(impressions), sum(clicks), sum(spend_micros), bool_and(is_final)
from serving.ad_ctr_minute group by client_id, window_start"""
DAYS = "select client_id, budget_day::text, impressions, clicks, spend_micros from serving.client_spend_day"
VERSIONS = "select job, version from serving.freshness where job in ('ad_ctr', 'client_spend')"

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


class Reader:
    """Polls in one REPEATABLE READ transaction a look, from enter to exit; its own failure is the test's."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._stop = settings, threading.Event()
        self._thread = threading.Thread(target=self._run, name="reader", daemon=True)
        self._failure: BaseException | None = None
        self.seen = Seen()

    def __enter__(self) -> Seen:
        self._thread.start()
        return self.seen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(END_SECONDS)
        if error is None:
            assert not self._thread.is_alive(), f"the reader's last look took more than {END_SECONDS} s"
            if self._failure is not None:
                raise self._failure

    def _run(self) -> None:
        try:
            with psycopg.connect(self._settings.dsn("kappa_reader")) as connection:
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                self._poll(connection)
        except BaseException as failure:
            self._failure = failure

    def _poll(self, connection: psycopg.Connection[Any]) -> None:
        before, ended = None, time.monotonic()
        while not self._stop.is_set():
            begun = time.monotonic()
            with connection.transaction():
                now = look(connection)
            self.seen.looks += 1
            if before is None or now.versions != before.versions:
                self.seen.versions.append(now.versions)
            self.seen.wrong += wrongs(before, now) if before else ()
            self.seen.longest_gap = max(self.seen.longest_gap, time.monotonic() - ended)
            before, ended = now, time.monotonic()
            self._stop.wait(max(begun + POLL_SECONDS - ended, LEISURE * (ended - begun)))


def look(connection: psycopg.Connection[Any]) -> Snapshot:
    """Both views in the transaction that is open."""
    versions = dict(connection.execute(VERSIONS).fetchall())
    minutes, days = connection.execute(MINUTES).fetchall(), connection.execute(DAYS).fetchall()
    counts = {("ad_ctr_minute", row[0], row[1]): tuple(map(int, row[2:6])) for row in minutes}
    counts |= {("client_spend_day", row[0], row[1]): tuple(map(int, row[2:])) for row in days}
    finals = frozenset(("ad_ctr_minute", row[0], row[1]) for row in minutes if row[6])
    return Snapshot(versions, counts, finals)
