"""Advice on size: when there is some, how much, and why there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kappa.core.advice.load import Free, Load
from kappa.core.advice.size import Advice, Size, advise
from kappa.core.job_catalog import JOBS, resolve

HOUR = 3600.0
FITS = Load(
    job="ad_ctr", version=1, state="LIVE", desired="running", settings=resolve(JOBS["ad_ctr"], {}),
    unchanged_seconds=5 * HOUR, beat_seconds=1.0, batch_ms=500, gap_ms=1_000.0, lag_events=900, lag_seconds=1.0,
    reads_per_second=1_000.0, peak_per_second=1_500.0, state_rows=5_000, state_bytes=1_000_000,
)  # fmt: skip
BUSY = replace(FITS, batch_ms=6_000, gap_ms=6_200.0, lag_events=6_000, lag_seconds=6.0)
BEHIND = replace(BUSY, lag_events=2_000_000, lag_seconds=700.0, reads_per_second=2_000.0)
IDLE = replace(FITS, batch_ms=100)
ROOM = Free(8, 8_192)


def told(load: Load, free: Free | None = ROOM) -> tuple[Size, dict[str, int]]:
    advice = advise(load, free)
    return advice.size, dict(advice.wanted)


def with_settings(load: Load, **given: int) -> Load:
    return replace(load, settings={**load.settings, **given})


@pytest.mark.parametrize("load", [BUSY, BEHIND], ids=["without a pause", "records wait"])
def test_who_is_overrun_is_advised_twice_the_cores_and_as_many_partitions(load: Load) -> None:
    assert told(load) == (Size.MORE, {"executor_cores": 4, "state_partitions": 4})


@pytest.mark.parametrize(
    "load",
    [
        replace(BUSY, gap_ms=1_000.0),  # one long batch among short ones
        replace(BUSY, batch_ms=1_000),  # long gaps because little arrives
        replace(BUSY, lag_seconds=0.5),  # nothing waits for it
        replace(FITS, batch_ms=1_200, gap_ms=1_200.0, lag_seconds=5.0),  # short batches: fixed costs
        replace(BUSY, gap_ms=None),
        replace(FITS, lag_seconds=500.0, lag_events=1_000_000),  # it does not wait for that long yet
    ],
)
def test_one_sign_of_trouble_alone_is_no_reason_to_grow(load: Load) -> None:
    assert told(load)[0] is Size.NONE


def test_who_catches_up_within_the_hour_is_left_alone() -> None:
    sooner = replace(BEHIND, reads_per_second=2.0 * BEHIND.arriving_per_second)
    assert told(sooner)[0] is Size.NONE
    assert "catches up by itself in about 12 min" in advise(sooner, ROOM).sentence
    later = replace(BEHIND, reads_per_second=1.1 * BEHIND.arriving_per_second)
    assert told(later)[0] is Size.MORE


@pytest.mark.parametrize(
    ("free", "wanted"),
    [
        (Free(1, 0), {"executor_cores": 3, "state_partitions": 3}),
        (Free(64, 0), {"executor_cores": 4, "state_partitions": 4}),
    ],
)
def test_never_more_than_the_cluster_has_free(free: Free, wanted: dict[str, int]) -> None:
    assert told(BUSY, free) == (Size.MORE, wanted)


def test_where_nothing_is_free_or_known_it_says_so() -> None:
    full = advise(BUSY, Free(0, 8_192))
    assert (full.size, "the cluster has 0 cores and 8,192 MB free" in full.sentence) == (Size.NONE, True)
    unknown = advise(BUSY, None)
    assert (unknown.size, "not known now" in unknown.sentence) == (Size.NONE, True)


@pytest.mark.parametrize(
    ("free", "executors"), [(Free(8, 8_192), 4), (Free(2, 8_192), 3), (Free(8, 600), 3), (Free(1, 8_192), None)]
)
def test_executors_are_added_whole_with_their_cores_and_memory(free: Free, executors: int | None) -> None:
    load = with_settings(BUSY, executors=2, state_partitions=64)
    assert told(load, free)[1] == ({} if executors is None else {"executors": executors})


def test_the_catalogues_bounds_hold() -> None:
    load = with_settings(BUSY, executor_cores=40, state_partitions=64)
    assert told(load, Free(100, 0)) == (Size.MORE, {"executor_cores": 64})
    assert told(with_settings(BUSY, executor_cores=64), Free(100, 0))[0] is Size.NONE


def test_a_version_that_is_held_back_by_its_limit_is_advised_larger_batches() -> None:
    capped = with_settings(replace(BEHIND, batch_ms=400, gap_ms=1_000.0), records_per_batch=2_000)
    advice = advise(capped, ROOM)
    assert (advice.size, advice.wanted, advice.form) == (Size.LARGER_BATCHES, {"records_per_batch": 4_000}, {})
    assert advice.command == "./kappa deploy ad_ctr --set records_per_batch=4000"
    assert told(with_settings(capped, records_per_batch=500_000))[0] is Size.MORE


def test_who_is_idle_for_hours_is_advised_half() -> None:
    assert told(IDLE) == (Size.FEWER, {"executor_cores": 1})
    assert told(with_settings(IDLE, cadence_ms=500)) == told(IDLE), "it could do with a batch a second"
    assert told(with_settings(IDLE, executors=4)) == (Size.FEWER, {"executors": 2})
    assert told(with_settings(IDLE, executors=1)) == (Size.FEWER, {"executor_cores": 1})


@pytest.mark.parametrize(
    "load",
    [
        replace(IDLE, unchanged_seconds=2.9 * HOUR),
        replace(IDLE, peak_per_second=2_100.0),  # the busiest minute would take 21 % of the time
        replace(IDLE, lag_seconds=61.0),
        replace(IDLE, reads_per_second=0.0),
        replace(IDLE, batch_ms=201),
        with_settings(IDLE, executor_cores=1),
        with_settings(IDLE, cadence_ms=0),
        with_settings(IDLE, cadence_ms=150),
    ],
)
def test_nothing_is_taken_away_before_it_is_sure(load: Load) -> None:
    assert told(load)[0] is Size.NONE


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (replace(BUSY, state="FAILED"), "it is FAILED"),
        (replace(BUSY, desired="stopped"), "wanted stopped"),
        (replace(BUSY, beat_seconds=31.0), "not at work"),
        (replace(BUSY, beat_seconds=None), "not at work"),
        (replace(BUSY, batch_ms=None), "not at work"),
        (replace(BUSY, unchanged_seconds=599.0), "for 599 s only"),
        (replace(BUSY, failing="query"), "it is red (query), which is to be mended first"),
        (FITS, "its size fits ("),
        (replace(FITS, batch_ms=980), "its size fits: its short batches leave no pause, but nothing waits for them"),
        (replace(FITS, lag_seconds=60.0, lag_events=60_000), "records wait, but not for 10 min yet"),
    ],
)
def test_without_advice_it_says_why_with_its_numbers(load: Load, why: str) -> None:
    advice = advise(load, ROOM)
    assert (advice.size, advice.wanted, advice.command) == (Size.NONE, {}, "")
    assert advice.sentence.startswith("no advice: ")
    assert why in advice.sentence
    assert "in the last 10 min 1,000 records/s arrived, and it read 1,000" in advice.sentence


def test_a_stateless_job_has_no_partitions() -> None:
    load = replace(BUSY, job="quarantine", settings=resolve(JOBS["quarantine"], {}))
    assert told(load) == (Size.MORE, {"executor_cores": 2})


def test_advice_brings_its_numbers_its_form_and_its_command() -> None:
    advice = advise(BEHIND, ROOM)
    assert advice.form == {"cores": 4, "partitions": 4}
    assert advice.command == "./kappa rescale ad_ctr --cores 4 --partitions 4"
    assert {name: advice.numbers[name] for name in ("lag_events", "free_cores", "state_rows", "executor_cores")} == {
        "lag_events": 2_000_000, "free_cores": 8, "state_rows": 5_000, "executor_cores": 2,
    }  # fmt: skip
    assert advice.numbers["growth_per_second"] == pytest.approx(2_000_000 / 700 - 2_000, abs=0.001)
    assert "2,857 records/s arrived, and it read 2,000 of 2,000 that it could" in advice.sentence
    assert Advice.from_json(advice.to_json()) == advice


def test_what_it_could_read_is_told_from_the_share_of_the_time_that_it_works() -> None:
    assert FITS.able_per_second == 2_000.0
    assert replace(FITS, batch_ms=3_000).able_per_second == 1_000.0
    assert replace(FITS, reads_per_second=0.0).able_per_second is None
