"""What holds while a hand-over is under way in Postgres: for readers, live drivers and other runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import psycopg
import pytest
from kappa.hooks.release_conflicts import SegmentsChanged
from kappa.replays import HandOver, Release

from tests.plugins.readers import AT_ONCE, reading
from tests.plugins.registries import OTHER
from tests.plugins.release_trials import PostgresReleaseTrial, author, candidates, picture, plan

pytestmark = pytest.mark.rig


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


def until(holds: Callable[[], bool]) -> None:
    """Wait for something, for ten seconds."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.01)


def begun(serving: PostgresReleaseTrial, pool: ThreadPoolExecutor, seconds: float = 15.0) -> Future[Release]:
    """A hand-over that waits for its candidates."""
    under_way = pool.submit(serving.releases.hand_over, behind(serving), author(), seconds)
    until(lambda: waits(serving))
    return under_way


def test_a_reader_neither_waits_for_a_hand_over_nor_sees_half_of_it(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    with reading(serving) as reader:
        under_way = begun(serving, pool)
        time.sleep(2)
        assert not under_way.done()
        catch_up(serving)
        under_way.result(5)
        until(lambda: reader.seen[-1] == (2, 2))
    assert set(reader.seen) == {(1, 1), (2, 2)}
    assert reader.seen == sorted(reader.seen)
    assert reader.longest < AT_ONCE
    print(f"longest reading {reader.longest:.3f} s of {len(reader.seen)}")


def test_a_live_driver_waits_for_the_hand_over_and_goes_on_after_it(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    def batch() -> None:
        with serving.stuck(serving.names[0]):
            serving.read(serving.names[0], 1, {0: 8})

    under_way = begun(serving, pool)
    waiting = pool.submit(batch)
    time.sleep(1)
    assert (waiting.done(), under_way.done()) == (False, False)
    catch_up(serving)
    made = under_way.result(5)
    waiting.result(5)
    assert made.offsets_before[serving.names[0]] == {0: 6, 1: 0}
    assert serving.releases.standing(serving.names[0], 1).next_offsets == {0: 8, 1: 0}


def test_a_live_driver_goes_on_after_a_hand_over_that_gave_up(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    under_way = begun(serving, pool, seconds=1)
    before, began = picture(serving), time.monotonic()
    with serving.stuck(serving.names[0]):
        assert time.monotonic() - began < 2
    assert "not caught up" in str(under_way.exception(5))
    assert picture(serving) == before


def test_a_hand_over_that_waits_keeps_nobody_from_a_lease_or_a_pin(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    under_way, job = begun(serving, pool), serving.names[0]
    began = time.monotonic()
    serving.registry.take_lease("repair", job, 1, OTHER, 60)
    serving.releases.pin(job, 1, OTHER)
    assert time.monotonic() - began < AT_ONCE
    catch_up(serving)
    under_way.result(5)


def test_of_two_hand_overs_at_once_one_wins(serving: PostgresReleaseTrial, pool: ThreadPoolExecutor) -> None:
    for number in (2, 3):
        candidates(serving, author(), number)
    plans = [plan(serving, 2), plan(serving, 3)]
    ended = [pool.submit(serving.releases.hand_over, planned, author()) for planned in plans]
    refused = [one.exception(20) for one in ended]
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
    both = [pool.submit(serving.releases.hand_over, planned, by) for _ in range(2)]
    until(lambda: waits(serving))
    catch_up(serving)
    one, other = (each.result(20) for each in both)
    assert one == other
    assert len(serving.releases.releases(serving.names[0])) == 2


def test_a_hand_over_whose_process_is_gone_holds_nothing_for_long(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = Event()
    monkeypatch.setattr("kappa.hooks.release_hand_over.MARGIN_SECONDS", 0.5)
    monkeypatch.setattr("kappa.hooks.release_hand_over.time.sleep", lambda _: asleep.wait(4))
    under_way = pool.submit(serving.releases.hand_over, behind(serving), author(), 0.5)
    until_held = time.monotonic() + 5
    while not waits(serving):
        assert time.monotonic() < until_held
    began = time.monotonic()
    with serving.stuck(serving.names[0]):
        assert time.monotonic() - began < 2
    asleep.set()
    assert "does not answer" in str(under_way.exception(5))
