"""When the batches of each job begin, with a trigger that fires as Spark's does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import stagger
from kappa.core.job_catalog import JOBS

CADENCE = 1_000


def begins(turn: int, batches: list[int], cadence: int = CADENCE, every: int = 0) -> list[int]:
    """When batches of these lengths begin, in ms: at once where the trigger's next time has passed by the end of the
    one before, else at that time (ProcessingTimeExecutor of Spark 4.2.0). The first begins at a multiple."""
    now, found = cadence, []
    for length in batches:
        found.append(now)
        trigger = (now // cadence + 1) * cadence
        ended = now + length + stagger.rest_ms(now, now + length, cadence, turn, every or cadence)
        now = int(max(ended, trigger))
    return found


def test_each_job_has_a_turn_of_its_own() -> None:
    """A batch of the quarantine, every other second, fits between the others' whichever of the two their cadence is."""
    assert [stagger.turn_ms(job, CADENCE) for job in JOBS] == [0, 500, 875]
    assert [stagger.turn_ms(job, 500) for job in JOBS] == [0, 250, 438]
    assert stagger.turn_ms("quarantine", 2_000) == 875, "of a second, like those of the others"


@pytest.mark.parametrize("cadence", [0, 2_001, 60_000])
def test_where_the_cadence_is_none_or_long_nobody_waits(cadence: int) -> None:
    assert {stagger.turn_ms(job, cadence) for job in JOBS} == {0}
    assert stagger.rest("quarantine", cadence, 0.1) == 0


@given(
    st.floats(0, 4e9),
    st.floats(0, 100),
    st.sampled_from(list(JOBS)),
    st.sampled_from([100, 500, 1_000, 2_000]),
    st.floats(0, 100),
)
def test_whatever_the_clock_says_no_rest_is_longer_than_three_cadences(
    clock: float, took: float, job: str, cadence: int, busy: float
) -> None:
    rests: list[float] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("jobs.stagger.time.time", lambda: clock)
        patched.setattr("jobs.stagger.time.sleep", rests.append)
        patched.setattr("jobs.stagger.psutil.cpu_percent", lambda: busy)
        assert stagger.rest(job, cadence, took) == rests[0]
    assert 0 <= rests[0] * 1_000 < (3 if busy > 90 and cadence <= 500 else 2) * cadence


@given(st.lists(st.integers(1, 990), min_size=3, max_size=20), st.sampled_from([0, 500, 875]))
def test_batches_that_are_shorter_than_the_cadence_begin_in_their_turn(batches: list[int], turn: int) -> None:
    """From the second on, and none is left out."""
    found = begins(turn, batches)[1:]
    assert found == [2 * CADENCE + turn + n * CADENCE for n in range(len(found))]


@pytest.mark.parametrize(("cadence", "busy", "rests"), [(500, 91, 900), (500, 90, 0), (501, 99, 0), (2_000, 99, 0)])
def test_of_a_short_cadence_every_other_turn_is_left_out_on_a_busy_machine(
    cadence: int, busy: float, rests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of the job with the first turn, which needs no rest else: it began with a cadence, and took 100 ms."""
    monkeypatch.setattr("jobs.stagger.time.time", lambda: 7 * cadence / 1_000 + 0.1)
    monkeypatch.setattr("jobs.stagger.time.sleep", lambda _: None)
    monkeypatch.setattr("jobs.stagger.psutil.cpu_percent", lambda: busy)
    assert stagger.rest("ad_ctr", cadence, 0.1) * 1_000 == pytest.approx(rests)


@given(st.lists(st.integers(1, 990), min_size=3, max_size=20), st.sampled_from([0, 250, 438]))
def test_of_which_the_batches_then_begin_once_a_second(batches: list[int], turn: int) -> None:
    found = begins(turn, batches, 500, 1_000)[1:]
    assert [after - before for before, after in pairwise(found)] == [1_000] * (len(found) - 1)
    assert {begun % 500 for begun in found} == {turn}


@given(st.lists(st.integers(1_900, 5_000), min_size=2, max_size=20), st.sampled_from([0, 500, 875]))
@pytest.mark.parametrize("cadence", [500, CADENCE])
def test_batches_that_are_longer_follow_one_another_without_a_rest(cadence: int, batches: list[int], turn: int) -> None:
    begun = begins(turn % cadence, batches, cadence)
    assert [after - before for before, after in pairwise(begun)] == batches[:-1]


@given(st.integers(1, 5_000), st.sampled_from([500, 875]))
def test_after_a_long_batch_the_turn_is_found_again(length: int, turn: int) -> None:
    assert begins(turn, [100, length, 100, 100, 100])[-1] % CADENCE == turn
