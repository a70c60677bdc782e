"""What holds while a hand-over is under way in Postgres: for readers, live drivers and other runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from threading import Event
from types import SimpleNamespace

import psycopg
import pytest
from psycopg.rows import dict_row

from kappa.core.replays import HandOver, Release
from kappa.core.versions import BEGINNING, OPEN_END, Segment, State
from kappa.registry.releases import hand_over
from kappa.registry.releases_port import SegmentsChanged
from kappa.registry.transactions import take_turn
from kappa.registry.versions import INSERT_SEGMENT
from tests.plugins.at_once import HOLDS_OUT_SECONDS, PATIENCE_SECONDS, turn_on_all_jobs_is_taken, until, until_blocked
from tests.plugins.registries import OTHER, version
from tests.plugins.release_trials import PostgresReleaseTrial, author, candidates, picture, plan
from tests.rigs.view_reader import await_looks, reading

pytestmark = pytest.mark.rig
MEANWHILE_SECONDS = 1.0
"""A hand-over that waits for nobody is over before."""


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(6) as made:
        yield made


def behind(serving: PostgresReleaseTrial) -> HandOver:
    """A plan whose candidates have yet to read a record."""
    candidates(serving, author())
    for job in serving.names:
        serving.read(job, 1, {0: 6})
    return plan(serving)


def catch_up(serving: PostgresReleaseTrial) -> None:
    """The candidates read that record."""
    for job in serving.names:
        serving.read(job, 2, {0: 6})


def waits(serving: PostgresReleaseTrial) -> bool:
    """Whether a hand-over holds the fences of both jobs."""
    with psycopg.connect(serving.settings.dsn("kappa_registry")) as connection:
        statement = "select 1 from registry.fence where job = any(%s) and version = 1 for update skip locked"
        return connection.execute(statement, [list(serving.names)]).fetchall() == []


def begun(serving: PostgresReleaseTrial, pool: ThreadPoolExecutor) -> Future[Release]:
    """A hand-over that waits for its candidates."""
    under_way = pool.submit(serving.releases.hand_over, behind(serving), author(), HOLDS_OUT_SECONDS)
    until("the hand-over holds the fences", lambda: waits(serving))
    return under_way


def goes_on(serving: PostgresReleaseTrial, under_way: Future[Release]) -> bool:
    """Whether the hand-over still holds the fences, and waits."""
    return waits(serving) and not under_way.done()


def batch(serving: PostgresReleaseTrial) -> None:
    """A live driver's, which takes its fence."""
    with serving.stuck(serving.names[0]):
        serving.read(serving.names[0], 1, {0: 8})


@pytest.mark.red_without("caught up", "they came to serve")
def test_versions_that_have_not_caught_up_do_not_come_to_serve(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    under_way = pool.submit(serving.releases.hand_over, behind(serving), author(), HOLDS_OUT_SECONDS)
    with suppress(TimeoutError):
        under_way.result(MEANWHILE_SECONDS)
    assert not under_way.done(), "they came to serve before they had read what the live ones had"
    catch_up(serving)
    under_way.result(PATIENCE_SECONDS)


def test_a_reader_neither_waits_for_a_hand_over_nor_sees_half_of_it(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    old, new = (dict.fromkeys(serving.names, number) for number in (1, 2))
    with reading(serving.settings, serving.names, every_seconds=0) as seen:
        under_way = begun(serving, pool)
        await_looks(seen)
        assert goes_on(serving, under_way)
        catch_up(serving)
        under_way.result(PATIENCE_SECONDS)
        until("the reader sees the new versions", lambda: seen.versions[-1] == new)
    assert seen.versions == [old, new]


def test_a_live_driver_waits_for_the_hand_over_and_goes_on_after_it(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    under_way = begun(serving, pool)
    waiting = pool.submit(batch, serving)
    until_blocked(serving.settings, "kappa_writer")
    assert goes_on(serving, under_way)
    catch_up(serving)
    made = under_way.result(PATIENCE_SECONDS)
    waiting.result(PATIENCE_SECONDS)
    assert made.offsets_before[serving.names[0]] == {0: 6, 1: 0}
    assert serving.releases.standing(serving.names[0], 1).next_offsets == {0: 8, 1: 0}


def test_a_live_driver_goes_on_after_a_hand_over_that_gave_up(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = Event()

    def now() -> float:
        return time.monotonic() + over.is_set() * HOLDS_OUT_SECONDS

    monkeypatch.setattr(hand_over, "time", SimpleNamespace(monotonic=now, sleep=time.sleep))
    under_way = begun(serving, pool)
    before, waiting = picture(serving), pool.submit(batch, serving)
    until_blocked(serving.settings, "kappa_writer")
    over.set()
    waiting.result(PATIENCE_SECONDS)
    assert "not caught up" in str(under_way.exception(PATIENCE_SECONDS))
    assert picture(serving) == before


def test_a_hand_over_that_waits_keeps_nobody_from_a_lease_or_a_pin(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    under_way, job = begun(serving, pool), serving.names[0]
    pool.submit(serving.registry.take_lease, "repair", job, 1, OTHER, 60).result(PATIENCE_SECONDS)
    pool.submit(serving.releases.pin, job, 1, OTHER).result(PATIENCE_SECONDS)
    assert goes_on(serving, under_way)
    catch_up(serving)
    under_way.result(PATIENCE_SECONDS)


def test_a_version_is_checked_and_staged_after_a_hand_over_that_is_under_way(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    under_way, job, served = begun(serving, pool), serving.names[0], list[int]()

    def check() -> None:
        served.append(serving.registry.segments(job)[-1].version)

    waiting = pool.submit(serving.registry.stage, version(job, 3), OTHER, {}, check)
    until_blocked(serving.settings, "kappa_registry")
    assert goes_on(serving, under_way)
    catch_up(serving)
    under_way.result(PATIENCE_SECONDS)
    waiting.result(PATIENCE_SECONDS)
    assert served == [2]


def test_a_hand_over_is_checked_after_a_version_that_is_being_staged(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    candidates(serving, author())
    job, go_on, there = serving.names[0], Event(), list[int]()
    staging = pool.submit(serving.registry.stage, version(job, 3), OTHER, {}, lambda: _await(go_on))

    def check() -> None:
        there.append(serving.registry.versions(job)[-1].version)

    until("it is being staged", lambda: turn_on_all_jobs_is_taken(serving.settings))
    moving = pool.submit(serving.releases.hand_over, plan(serving), author(), HOLDS_OUT_SECONDS, check)
    until_blocked(serving.settings, "kappa_registry")
    assert there == []
    go_on.set()
    staging.result(PATIENCE_SECONDS)
    moving.result(PATIENCE_SECONDS)
    assert there == [3]


def _await(event: Event) -> None:
    assert event.wait(PATIENCE_SECONDS)


def test_a_version_that_gave_up_waits_for_the_hand_over_that_replaces_it_and_stays_failed(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    candidates(serving, author())
    job, dsn = serving.names[0], serving.settings.dsn("kappa_registry")
    serving.registry.give_up(job, 1, "broken")
    with psycopg.connect(dsn, row_factory=dict_row) as moving:
        take_turn(moving, job)
        moving.execute("delete from registry.segment where job = %s", [job])
        moving.execute(INSERT_SEGMENT, Segment(job, BEGINNING, OPEN_END, 2).to_json())
        waiting = pool.submit(serving.registry.revive, job, 1)
        with suppress(TimeoutError):
            waiting.result(MEANWHILE_SECONDS)
    assert waiting.result(PATIENCE_SECONDS) is State.FAILED


def test_of_two_hand_overs_at_once_one_wins(serving: PostgresReleaseTrial, pool: ThreadPoolExecutor) -> None:
    for number in (2, 3):
        candidates(serving, author(), number)
    plans = [plan(serving, 2), plan(serving, 3)]
    ended = [pool.submit(serving.releases.hand_over, planned, author()) for planned in plans]
    refused = [one.exception(PATIENCE_SECONDS) for one in ended]
    assert sorted(type(one).__name__ for one in refused) == ["NoneType", "SegmentsChanged"]
    (winner,) = (one.result() for one, why in zip(ended, refused, strict=True) if why is None)
    assert [serving.registry.segments(job)[-1].version for job in serving.names] == list(
        winner.evidence["targets"].values()
    )
    assert len(serving.releases.releases(serving.names[0])) == 2
    assert any(isinstance(why, SegmentsChanged) for why in refused)


def test_a_run_that_hands_over_twice_at_once_makes_one_release(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    planned, by = behind(serving), author()
    both = [pool.submit(serving.releases.hand_over, planned, by, HOLDS_OUT_SECONDS) for _ in range(2)]
    until("one of them holds the fences", lambda: waits(serving))
    catch_up(serving)
    one, other = (each.result(PATIENCE_SECONDS) for each in both)
    assert one == other
    assert len(serving.releases.releases(serving.names[0])) == 2


def test_a_hand_over_whose_process_is_gone_holds_nothing_for_long(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sleeps for as long as the test goes on; a live driver gets its fence meanwhile."""
    asleep, wakes = Event(), Event()

    def sleep(_: float) -> None:
        asleep.set()
        wakes.wait(HOLDS_OUT_SECONDS)

    monkeypatch.setattr(hand_over, "MARGIN_SECONDS", 0.5)
    monkeypatch.setattr(hand_over, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    under_way = pool.submit(serving.releases.hand_over, behind(serving), author(), 0.5)
    with ExitStack() as end:
        end.callback(wakes.set)
        assert asleep.wait(PATIENCE_SECONDS), "the hand-over does not wait for its candidates"
        pool.submit(batch, serving).result(PATIENCE_SECONDS)
        assert not under_way.done()
    assert "does not answer" in str(under_way.exception(PATIENCE_SECONDS))
