"""How a candidate catches up, told from readings: four states, several readings in a row, and why it fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kappa.core.replays import NOTHING_MEASURED, SETTLING_SECONDS, Forecast, Standing
from kappa.core.versions import State
from kappa.verbs.replay.progress import CatchUp, Progress, Reading, judge, together
from tests.plugins.fakes import NOON

EXPECTED = 100_000
DEADLINE = NOON + timedelta(hours=6)


def reading(at: float, read: int, unread: int, lag: float, **facts: Any) -> Reading:
    """A candidate so many seconds after its launch, whose latest batch was committed a second before."""
    now = NOON + timedelta(seconds=at)
    standing = Standing({0: read}, {0: read + unread}, NOON, NOON, unread, lag, read, now - timedelta(seconds=1))
    return Reading(now, State.CATCHING_UP, standing, **facts)


def changed(one: Reading, **facts: Any) -> Reading:
    """The same reading of another standing."""
    return replace(one, standing=replace(one.standing, **facts))


def judged(*readings: Reading, start: float = 30.0, per_s: float = 1_000.0) -> Progress:
    """The progress after these readings of a replay of EXPECTED records, with such a start and speed expected of it."""
    return judge(readings, EXPECTED, NOON, DEADLINE, Forecast(start, per_s))


NEAR = [reading(at, 100_000 + at, 40, 4.9) for at in (100, 110, 120)]
FAR = reading(60, 10_000, 90_000, 7_200.0)


def test_three_readings_in_a_row_within_five_seconds_are_ready() -> None:
    assert judged(*NEAR).state is CatchUp.READY
    assert judged(FAR, *NEAR).state is CatchUp.READY


def test_a_quiet_topic_is_ready_however_old_its_last_record_is() -> None:
    quiet = [changed(reading(at, 100_000, 0, 0.0), committed_at=NOON) for at in (900, 910, 920)]
    assert judged(*quiet).state is CatchUp.READY


@pytest.mark.parametrize("outlier", [0, 1, 2])
def test_one_reading_further_away_makes_it_begin_anew(outlier: int) -> None:
    readings = [changed(one, lag_seconds=5.1) if n == outlier else one for n, one in enumerate(NEAR)]
    assert judged(*readings).state is CatchUp.LAGGING


def test_where_the_live_version_lags_itself_what_counts_is_how_far_behind_it_the_candidate_is() -> None:
    """On a busy machine a batch takes seconds, also of the live version; a hand-over waits for the rest only."""
    far = [changed(one, lag_seconds=7.4) for one in NEAR]
    assert judged(*far).state is CatchUp.LAGGING
    assert judged(*(replace(one, live_lag_seconds=2.4) for one in far)).state is CatchUp.READY
    assert judged(*(replace(one, live_lag_seconds=2.3) for one in far)).state is CatchUp.LAGGING


def test_fewer_readings_are_not_enough() -> None:
    assert judged(*NEAR[:2]).state is CatchUp.LAGGING


def test_a_candidate_that_has_not_seen_the_whole_log_is_not_ready_though_nothing_seems_unread() -> None:
    started = [changed(reading(at, 0, 0, 0.0), complete_through=None, committed_at=None) for at in (1, 2, 3)]
    assert judged(*started).state is CatchUp.HYDRATING


def test_within_a_minute_it_lags_and_beyond_it_hydrates() -> None:
    assert judged(reading(60, 99_000, 1_000, 60.0)).state is CatchUp.LAGGING
    assert judged(reading(60, 99_000, 1_000, 60.1)).state is CatchUp.HYDRATING


def test_a_driver_that_is_gone_does_not_look_ready_by_its_own_last_word() -> None:
    gone = [replace(changed(reading(at, 100_000, 0, 0.0), committed_at=NOON), log_ends={0: 100_000 + 10 * at})
            for at in (60, 70, 80)]  # fmt: skip
    assert judged(*gone).state is CatchUp.HYDRATING
    assert judged(*gone).eta_s is None
    later = [replace(gone[-1], at=NOON + timedelta(seconds=at)) for at in range(90, 391, 10)]
    assert judged(*gone, *later).state is CatchUp.FAILING


def test_what_came_since_the_last_batch_waits_no_longer_than_that() -> None:
    busy = [replace(reading(at, 100_000 + at, 0, 0.0), log_ends={0: 100_000 + at + 900}) for at in (60, 70, 80)]
    assert judged(*busy).state is CatchUp.READY


def test_rate_and_eta_are_told_from_the_readings() -> None:
    progress = judged(reading(60, 10_000, 90_000, 900.0), reading(70, 20_000, 81_000, 800.0))
    assert (progress.done, progress.total) == (20_000, 101_000)
    assert (progress.rate_per_s, progress.eta_s) == (1_000.0, 81_000 / 900 - 1 + SETTLING_SECONDS)
    assert progress.sentence == "hydrating: 20,000 of 101,000 records (20%), 1,000/s, ready in about 1 min 44 s"


def test_before_the_driver_knows_the_log_the_plans_count_stands_for_it() -> None:
    progress = judged(changed(reading(5, 0, 0, 0.0), complete_through=None, committed_at=None))
    assert (progress.done, progress.total, progress.rate_per_s) == (0, EXPECTED, 0.0)
    assert progress.sentence == "hydrating: its driver is starting, 100,000 records to read, ready in about 2 min 20 s"


@pytest.mark.parametrize(("at", "left"), [(20.0, 10.0 + 100.0), (100.0, 100.0)])
def test_while_its_driver_starts_what_was_measured_before_says_how_long_it_takes(at: float, left: float) -> None:
    progress = judged(changed(reading(at, 0, 0, 0.0), complete_through=None, committed_at=None))
    assert progress.eta_s == left + SETTLING_SECONDS
    assert "not coming nearer" not in progress.sentence


def test_the_time_that_the_driver_took_to_start_is_no_part_of_its_rate() -> None:
    starting = [changed(reading(at, 0, 0, 0.0), complete_through=None, committed_at=None) for at in (10, 30, 50)]
    progress = judged(*starting, reading(60, 10_000, 90_000, 900.0), reading(70, 20_000, 80_000, 800.0))
    assert (progress.rate_per_s, progress.eta_s) == (1_000.0, 80.0 - 1 + SETTLING_SECONDS)


def test_in_the_midst_of_a_batch_the_time_left_is_by_those_before_it() -> None:
    before = [reading(60, 10_000, 90_000, 900.0), reading(70, 20_000, 80_000, 800.0)]
    midst = [
        changed(reading(at, 20_000, 80_000, 800.0), committed_at=before[-1].standing.committed_at) for at in (75, 79)
    ]
    assert [judged(*before, one).eta_s for one in midst] == [80.0 - 6 + SETTLING_SECONDS, 80.0 - 10 + SETTLING_SECONDS]


def test_its_own_speed_counts_for_more_the_longer_it_reads() -> None:
    """Expected were 1,000/s, it reads 500/s."""
    readings = [reading(60 + at, 500 * at, 100_000 - 500 * at, 900.0) for at in (0, 10, 90)]
    etas = [judged(*readings[:n]).eta_s or 0 for n in (1, 2, 3)]
    assert etas == pytest.approx([left + SETTLING_SECONDS for left in (99, 95_000 / 750 - 1, 55_000 / 550 - 1)])


def test_a_batch_that_takes_far_longer_than_all_should_have_taken_says_nothing_of_the_end() -> None:
    stuck = changed(reading(200, 90_000, 10_000, 900.0), committed_at=NOON + timedelta(seconds=155))
    assert judged(stuck).eta_s is None


def test_a_candidate_that_does_not_come_nearer_has_no_eta() -> None:
    progress = judged(reading(60, 10_000, 90_000, 900.0), reading(70, 20_000, 90_000, 900.0))
    assert progress.eta_s is None
    assert "not coming nearer yet" in progress.sentence


def failure(*readings: Reading) -> str:
    """Why a candidate is failing by its readings."""
    progress = judged(*readings)
    assert progress.state is CatchUp.FAILING
    return progress.sentence


def test_a_version_that_gave_up_is_failing_with_its_reason_even_if_it_was_ready() -> None:
    said = failure(*NEAR[:2], replace(NEAR[2], state=State.FAILED, failure="the driver was started 10 times"))
    assert "its driver gave up (the driver was started 10 times)" in said
    assert "retired" in failure(replace(NEAR[2], state=State.RETIRED))


def watched(one: Reading, begun: int, end: int, every: int = 10) -> list[Reading]:
    """The same standing seen again and again, from so many seconds after the launch on to so many."""
    return [replace(one, at=NOON + timedelta(seconds=at)) for at in range(begun, end + 1, every)]


STILL = changed(reading(0, 10_000, 90_000, 900.0), committed_at=NOON)
AWAY = replace(STILL, heard=False)


def test_no_commit_for_five_minutes_with_records_unread_is_failing() -> None:
    said = "no batch was committed for 5 min 10 s since its last one, outages not counted, with 90,000 records unread"
    assert said in failure(*watched(STILL, 0, 310))
    assert judged(*watched(STILL, 0, 300)).state is CatchUp.HYDRATING


def test_a_driver_that_never_came_up_is_failing_after_a_quarter_of_an_hour() -> None:
    never = changed(STILL, next_offsets={0: 0}, lag_events=0, complete_through=None, committed_at=None, read=0)
    assert "since its launch" in failure(*watched(never, 0, 903, 7))
    assert judged(*watched(never, 0, 900)).state is CatchUp.HYDRATING


def test_time_before_its_latest_batch_does_not_count_against_it() -> None:
    late = changed(STILL, committed_at=NOON + timedelta(seconds=101))
    assert judged(*watched(late, 0, 400)).state is CatchUp.HYDRATING
    assert "5 min 09 s" in failure(*watched(late, 0, 410))


@pytest.mark.parametrize(
    "outage",
    [[], watched(AWAY, 290, 4_000)],
    ids=["the database, so that there is no reading", "the log"],
)
def test_time_in_which_a_part_did_not_answer_does_not_count_against_it(outage: list[Reading]) -> None:
    """An outage of an hour, after which nothing has been committed yet."""
    before = watched(STILL, 0, 280)
    assert judged(*before, *outage, *watched(STILL, 4_010, 4_020)).state is CatchUp.HYDRATING
    assert "5 min 10 s" in failure(*before, *outage, *watched(STILL, 4_010, 4_040))


def test_who_looks_for_the_first_time_cannot_tell_that_it_stands_still() -> None:
    assert judged(*watched(STILL, 4_000, 4_000)).state is CatchUp.HYDRATING


def test_a_commit_of_before_the_launch_does_not_count_against_it() -> None:
    old = changed(reading(100, 10_000, 90_000, 900.0), committed_at=NOON - timedelta(hours=1))
    assert judged(old).state is CatchUp.HYDRATING


def test_past_the_deadline_it_is_failing_unless_it_is_ready() -> None:
    late = [reading(6 * 3600 + at, 10_000, 90_000, 900.0) for at in range(-310, 1, 10)]
    assert "not ready by 2" in failure(*late)
    assert judged(*late[:-1]).state is CatchUp.HYDRATING
    assert judge(NEAR, EXPECTED, NOON, NOON, NOTHING_MEASURED).state is CatchUp.READY


def test_a_log_that_no_longer_allows_it_is_failing_at_once() -> None:
    assert failure(replace(FAR, infeasible="the log dropped 7 records")) == "failing: the log dropped 7 records"


@pytest.mark.parametrize(
    ("readings", "state"),
    [([NEAR, NEAR], "ready"), ([NEAR, [FAR]], "hydrating"), ([NEAR, NEAR[:2]], "lagging")],
)
def test_jobs_that_are_promoted_together_are_as_far_as_the_last_of_them(
    readings: Sequence[Sequence[Reading]], state: str
) -> None:
    one, other = (judged(*held) for held in readings)
    both = together({"client_spend": other, "ad_ctr": one})
    assert both.state == state
    assert (both.done, both.total) == (one.done + other.done, one.total + other.total)
    assert both.sentence == f"ad_ctr {one.sentence}; client_spend {other.sentence}"


def test_the_eta_of_several_jobs_is_the_longest_and_unknown_where_one_is() -> None:
    progress = judged(FAR)
    short, long = replace(progress, eta_s=5.0), replace(progress, eta_s=9.0)
    assert together({"ad_ctr": short, "client_spend": long}).eta_s == 9.0
    assert together({"ad_ctr": short, "client_spend": replace(long, eta_s=None)}).eta_s is None


def test_progress_survives_json() -> None:
    progress = judged(*NEAR)
    assert Progress.from_json(json.loads(json.dumps(progress.to_json()))) == progress
