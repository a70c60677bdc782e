"""What holds while a hand-over or a retirement is under way in Postgres: for readers, live drivers and other runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

import psycopg
import pytest
from kappa.hooks.release_conflicts import RowsInUse, SegmentsChanged
from kappa.replays import HandOver, Release

from jobs.settings import Settings
from tests.plugins.registries import BY, OTHER
from tests.plugins.release_trials import PostgresReleaseTrial, author, candidates, picture, plan, serve, stage

pytestmark = pytest.mark.integration
AT_ONCE = 0.5
"""Seconds; far less than any of these tests makes a hand-over wait."""


@pytest.fixture
def trial(stack: Settings, job: str) -> Iterator[PostgresReleaseTrial]:
    with PostgresReleaseTrial((job, f"{job}_b"), stack).prepared() as prepared:
        serve(prepared)
        yield prepared


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(6) as made:
        yield made


@dataclass
class Reader:
    """Polls the serving views in REPEATABLE READ: which versions it saw together, and how long the longest took."""

    settings: Settings
    names: tuple[str, str]
    seen: list[tuple[int, ...]] = field(default_factory=list)
    longest: float = 0.0

    def read(self, over: Event) -> None:
        with psycopg.connect(self.settings.dsn("kappa_reader")) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            while not over.is_set():
                began = time.monotonic()
                self.seen.append(self._poll(connection))
                self.longest = max(self.longest, time.monotonic() - began)

    def _poll(self, connection: psycopg.Connection) -> tuple[int, ...]:
        with connection.transaction():
            found = [self._versions(connection) for _ in range(2)]
            connection.execute("select count(*) from serving.ad_ctr_minute")
            connection.execute("select count(*) from serving.client_spend_day")
        assert found[0] == found[1], "the list changed within one reading"
        return found[0]

    def _versions(self, connection: psycopg.Connection) -> tuple[int, ...]:
        rows = connection.execute(
            "select version from serving.freshness where job = any(%s) order by job", [list(self.names)]
        )
        return tuple(row[0] for row in rows)


@contextmanager
def reading(trial: PostgresReleaseTrial) -> Iterator[Reader]:
    """With a reader that polls all the time."""
    reader, over = Reader(trial.settings, trial.names), Event()
    thread = Thread(target=reader.read, args=[over])
    thread.start()
    try:
        yield reader
    finally:
        over.set()
        thread.join()


def behind(trial: PostgresReleaseTrial) -> HandOver:
    """A plan whose candidates have yet to read a record."""
    candidates(trial, author())
    for job in trial.names:
        trial.read(job, 1, {0: 6})
    return plan(trial)


def catch_up(trial: PostgresReleaseTrial) -> None:
    """The candidates read that record."""
    for job in trial.names:
        trial.read(job, 2, {0: 6})


def waits(trial: PostgresReleaseTrial) -> bool:
    """Whether a hand-over holds the fences of both jobs."""
    with psycopg.connect(trial.settings.dsn("kappa_registry")) as connection:
        statement = "select 1 from registry.fence where job = any(%s) and version = 1 for update skip locked"
        return connection.execute(statement, [list(trial.names)]).fetchall() == []


def until(holds: Callable[[], bool]) -> None:
    """Wait for something, for ten seconds."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.01)


def begun(trial: PostgresReleaseTrial, pool: ThreadPoolExecutor, seconds: float = 15.0) -> Future[Release]:
    """A hand-over that waits for its candidates."""
    under_way = pool.submit(trial.releases.hand_over, behind(trial), author(), seconds)
    until(lambda: waits(trial))
    return under_way


def test_a_reader_neither_waits_for_a_hand_over_nor_sees_half_of_it(
    trial: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    with reading(trial) as reader:
        under_way = begun(trial, pool)
        time.sleep(1.5)
        assert not under_way.done()
        catch_up(trial)
        under_way.result(5)
        until(lambda: reader.seen[-1] == (2, 2))
    assert set(reader.seen) == {(1, 1), (2, 2)}
    assert reader.seen == sorted(reader.seen)
    assert reader.longest < AT_ONCE
    print(f"longest reading {reader.longest:.3f} s of {len(reader.seen)}")


def test_a_live_driver_waits_for_the_hand_over_and_goes_on_after_it(
    trial: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    def batch() -> None:
        with trial.stuck(trial.names[0]):
            trial.read(trial.names[0], 1, {0: 8})

    under_way = begun(trial, pool)
    waiting = pool.submit(batch)
    time.sleep(1)
    assert (waiting.done(), under_way.done()) == (False, False)
    catch_up(trial)
    made = under_way.result(5)
    waiting.result(5)
    assert made.offsets_before[trial.names[0]] == {0: 6, 1: 0}
    assert trial.releases.standing(trial.names[0], 1).next_offsets == {0: 8, 1: 0}


def test_a_live_driver_goes_on_after_a_hand_over_that_gave_up(
    trial: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    under_way = begun(trial, pool, seconds=1)
    before, began = picture(trial), time.monotonic()
    with trial.stuck(trial.names[0]):
        assert time.monotonic() - began < 2
    assert "not caught up" in str(under_way.exception(5))
    assert picture(trial) == before


def test_a_hand_over_that_waits_keeps_nobody_from_a_lease_or_a_pin(
    trial: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    under_way, job = begun(trial, pool), trial.names[0]
    began = time.monotonic()
    trial.registry.take_lease("repair", job, 1, OTHER, 60)
    trial.releases.pin(job, 1, OTHER)
    assert time.monotonic() - began < AT_ONCE
    catch_up(trial)
    under_way.result(5)


def test_of_two_hand_overs_at_once_one_wins(trial: PostgresReleaseTrial, pool: ThreadPoolExecutor) -> None:
    for number in (2, 3):
        candidates(trial, author(), number)
    plans = [plan(trial, 2), plan(trial, 3)]
    ended = [pool.submit(trial.releases.hand_over, planned, author()) for planned in plans]
    refused = [one.exception(20) for one in ended]
    assert sorted(type(one).__name__ for one in refused) == ["NoneType", "SegmentsChanged"]
    (winner,) = (one.result() for one, why in zip(ended, refused, strict=True) if why is None)
    assert [trial.registry.segments(job)[-1].version for job in trial.names] == list(
        winner.evidence["targets"].values()
    )
    assert len(trial.releases.releases(trial.names[0])) == 2
    assert any(isinstance(why, SegmentsChanged) for why in refused)


def test_a_run_that_hands_over_twice_at_once_makes_one_release(
    trial: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    planned, by = behind(trial), author()
    both = [pool.submit(trial.releases.hand_over, planned, by) for _ in range(2)]
    until(lambda: waits(trial))
    catch_up(trial)
    one, other = (each.result(20) for each in both)
    assert one == other
    assert len(trial.releases.releases(trial.names[0])) == 2


def test_a_hand_over_whose_process_is_gone_holds_nothing_for_long(
    trial: PostgresReleaseTrial, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = Event()
    monkeypatch.setattr("kappa.hooks.release_hand_over.MARGIN_SECONDS", 0.5)
    monkeypatch.setattr("kappa.hooks.release_hand_over.time.sleep", lambda _: asleep.wait(4))
    under_way = pool.submit(trial.releases.hand_over, behind(trial), author(), 0.5)
    until_held = time.monotonic() + 5
    while not waits(trial):
        assert time.monotonic() < until_held
    began = time.monotonic()
    with trial.stuck(trial.names[0]):
        assert time.monotonic() - began < 2
    asleep.set()
    assert "does not answer" in str(under_way.exception(5))


def test_no_reader_waits_while_a_version_is_retired(trial: PostgresReleaseTrial) -> None:
    stage(trial, author())
    trial.write(trial.names[0], 2)
    with reading(trial) as reader:
        with trial.in_use(trial.names[0], 2), pytest.raises(RowsInUse):
            trial.releases.retire(trial.names[0], 2, BY)
        assert _pending(trial) == [True]
        stage(trial, author(), 3)
        trial.releases.retire(trial.names[0], 2, BY)
        trial.releases.retire(trial.names[0], 3, BY)
    assert _pending(trial) == []
    assert reader.longest < AT_ONCE


def test_the_rows_of_a_table_are_read_while_one_of_its_versions_is_retired(trial: PostgresReleaseTrial) -> None:
    job, longest = trial.names[0], 0.0
    stage(trial, author())
    for number in (1, 2):
        trial.write(job, number)
    over = Event()

    def poll() -> None:
        nonlocal longest
        with psycopg.connect(trial.settings.dsn("kappa_registry"), autocommit=True) as connection:
            while not over.is_set():
                began = time.monotonic()
                rows = connection.execute(f"select count(*) from data.{job} where version = 1").fetchall()
                assert rows == [(1,)]
                longest = max(longest, time.monotonic() - began)

    thread = Thread(target=poll)
    thread.start()
    try:
        with trial.in_use(job, 2), pytest.raises(RowsInUse):
            trial.releases.retire(job, 2, BY)
        assert trial.releases.retire(job, 2, BY).rows_bytes > 0
    finally:
        over.set()
        thread.join()
    assert 0 < longest < AT_ONCE


def test_another_retirement_of_the_table_finishes_what_was_cut_short(trial: PostgresReleaseTrial) -> None:
    job = trial.names[0]
    for number in (2, 3):
        stage(trial, author(), number)
        trial.write(job, number)
    with trial.in_use(job, 2), pytest.raises(RowsInUse):
        trial.releases.retire(job, 2, BY)
    assert trial.releases.retire(job, 3, BY).rows_bytes > 0
    assert trial.releases.unfreed() >= {(job, 2)}
    assert trial.releases.retire(job, 2, BY).rows_bytes > 0


def _pending(trial: PostgresReleaseTrial) -> list[bool]:
    """Of the children of the first job's table beside that of version 1: whether their detachment was cut short."""
    with psycopg.connect(trial.settings.dsn("kappa_owner")) as owner:
        rows = owner.execute(
            "select inhdetachpending from pg_inherits where inhparent = %s::regclass and inhrelid <> %s::regclass",
            [f"data.{trial.names[0]}", f"data.{trial.names[0]}_v1"],
        )
        return [row[0] for row in rows]
