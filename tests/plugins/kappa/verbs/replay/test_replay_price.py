"""The price of a replay and what follows from it: rate, speed, ETA, and whether the log outlives it."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from datetime import datetime

import pytest

from kappa.core.job_catalog import JOBS, MINUTE_MS, resolve
from kappa.core.replays import SETTLING_SECONDS, Forecast, Standing, Weighed
from kappa.core.versions import State
from kappa.verbs.replay import observation
from kappa.verbs.replay.candidate import RateGivenTwice, RateOutOfRange, throttle
from kappa.verbs.replay.price import LogFacts, LogWillBeTooShort, NeverCatchesUp, eta_seconds, infeasible, slack_seconds
from kappa.verbs.replay.progress import Reading
from kappa.verbs.start_point import utc
from tests.plugins.fakes import NOON, TOPIC, FakeLog
from tests.plugins.replay_plans import (
    BOTH,
    HOUR_MS,
    LOG,
    NOW,
    START,
    WEIGHT,
    T,
    planned,
    refusal,
)
from tests.seeds import any_seed


def test_the_price_counts_what_all_candidates_read_and_keep() -> None:
    costs = planned().price
    assert (costs.records, costs.bytes) == (180_000, 180_000 * 250)
    assert (costs.disk_bytes, costs.state_keys) == (8_000_000, 80_000)
    assert costs.eta_seconds == pytest.approx(50 + (90_000 + 50 * 500) / 5_000 + SETTLING_SECONDS)
    assert costs.retention_slack_seconds == pytest.approx(158 * 3600 - 300 - 30)
    assert costs.assumed == ()


def test_a_speed_that_was_never_measured_is_assumed_and_said_to_be() -> None:
    plan = planned(weight=replace(WEIGHT, weighed=Weighed(3_000_000, None)))
    assert plan.price.assumed == BOTH
    assert "ad_ctr 7,000/s, assumed" in dict(plan.rows())["ETA"]


def test_the_eta_begins_with_the_start_as_it_was_measured() -> None:
    slowly = replace(WEIGHT, weighed=replace(WEIGHT.weighed, start_s=80.0))
    assumed, slow = planned().price, planned(weight=slowly).price
    by_arrivals = 30.0 * LOG.arrivals_per_s / (5_500.0 - LOG.arrivals_per_s)
    assert slow.eta_seconds - assumed.eta_seconds == pytest.approx(30.0 + by_arrivals)


@pytest.mark.parametrize(
    ("counts", "per_s"),
    [((60, 60, 60, 60, 60), 1.0), ((60, 60, 900, 60, 60), 1.0), ((0, 0, 0, 900, 900), 0.0), ((), 0.0)],
    ids=["steady", "a burst", "a burst after nothing", "nothing"],
)
def test_what_arrives_is_what_came_in_the_middle_one_of_the_last_minutes(counts: tuple[int, ...], per_s: float) -> None:
    now_ms, minutes = 20 * MINUTE_MS, len(counts)
    times = [now_ms - (minutes - number) * MINUTE_MS for number, count in enumerate(counts) for _ in range(count)]
    log = FakeLog({0: 7, 1: 0}, {0: [0, *times], 1: []})
    assert observation.log_facts(log, TOPIC, log.earliest(), now_ms, 0).arrivals_per_s == per_s


def test_the_rows_show_the_price_readably() -> None:
    rows = dict(planned().rows())
    assert rows["records"] == "180,000"
    assert rows["bytes"] == "45.0 MB"
    assert rows["ETA"] == "1 min 28 s (ad_ctr 5,500/s, client_spend 5,500/s)"
    assert rows["disk"] == "about 8.0 MB, as the live versions"
    assert rows["state keys"] == "about 80,000"
    assert rows["retention slack"] == "157 h 54 min at the tightest record"
    assert rows["T"] == f"at {utc(T)}"
    assert rows["offsets"] == "partition 0: from 1,000, 60,000 records\npartition 1: from 500, 30,000 records"
    assert rows["cores"] == "4 of 4 free ones"
    assert "the log drops nothing" in dict(planned(log=replace(LOG, retention_ms=None)).rows())["retention slack"]


def most(job: str) -> int:
    """The most records that a batch of the job may read."""
    return next(setting.most for setting in JOBS[job].settings if setting.name == "records_per_batch")


@pytest.mark.parametrize(
    ("job", "rate"), [(job, rate) for job in JOBS for rate in (2, 3, 7, 99, 100, 101, 1_999, most(job))]
)
def test_a_read_rate_becomes_batches_that_read_no_faster_and_hardly_slower(job: str, rate: int) -> None:
    settings = resolve(JOBS[job], throttle(JOBS[job], rate))
    read = settings["records_per_batch"] / settings["cadence_ms"] * 1000
    assert 0.99 * rate <= read <= rate


@pytest.mark.parametrize("rate", [50, 1_000, 20_000])
def test_a_limited_candidate_takes_few_batches_that_let_it_be_close_enough_to_the_end(rate: int) -> None:
    """A batch costs the machine about as much for few records as for many; what waits for it is not ready."""
    cadence = throttle(JOBS["ad_ctr"], rate)["cadence_ms"]
    assert 2_000 <= cadence <= 4_000


def test_a_read_rate_bounds_the_speed_and_the_eta() -> None:
    plan = planned(rate=1_000)
    assert plan.price.speeds == {"ad_ctr": 1_000.0, "client_spend": 1_000.0}
    assert plan.price.eta_seconds == pytest.approx(50 + (90_000 + 25_000) / 500 + SETTLING_SECONDS)
    assert planned(settings={"records_per_batch": 2_000, "cadence_ms": 2_000}).price.speeds["ad_ctr"] == 1_000.0


@pytest.mark.parametrize("rate", [-1, 0, 1, most("ad_ctr") + 1])
def test_a_rate_that_no_batches_can_keep_is_refused(rate: int) -> None:
    assert f"a read rate of {rate} records/s" in refusal(RateOutOfRange, rate=rate)


def test_a_rate_and_the_settings_that_it_becomes_are_not_given_together() -> None:
    assert "records_per_batch" in refusal(RateGivenTwice, rate=100, settings={"records_per_batch": 500})


def test_a_replay_that_is_slower_than_the_producers_is_refused() -> None:
    said = refusal(NeverCatchesUp, rate=500)
    assert "at 500 records/s would never catch up with the 500 that arrive each second" in said
    assert math.isinf(eta_seconds(10, Forecast(30.0, 500.0), 500))


def test_a_log_that_will_be_too_short_is_refused_with_a_start_that_is_safe() -> None:
    short = replace(LOG, retention_ms=10 * HOUR_MS + 5 * MINUTE_MS)
    said = refusal(LogWillBeTooShort, log=short)
    assert "would come 30 s too late" in said
    safe = datetime.fromisoformat(re.search(r"Start at (\S+) or later", said)[1]).timestamp() * 1000  # type: ignore[index]
    appended = safe - 5 * MINUTE_MS
    assert appended + (short.retention_ms or 0) - NOW >= (30 + 90_000 / 5_500) * 1000
    assert safe < T + 2 * MINUTE_MS


def test_where_no_start_is_late_enough_none_is_proposed() -> None:
    said = refusal(LogWillBeTooShort, log=replace(LOG, retention_ms=4 * MINUTE_MS))
    assert "No later start helps: read faster" in said
    assert "--from" not in said


@any_seed(100)
def test_the_slack_is_that_of_a_replay_played_record_by_record(seed: int) -> None:
    chance = random.Random(seed)
    samples: dict[int, tuple[tuple[int, int], ...]] = {}
    for partition in range(3):
        times = sorted(NOW - chance.randrange(HOUR_MS) for _ in range(chance.randrange(1, 60)))
        samples[partition] = tuple((10 + n, ms) for n, ms in enumerate(times))
    ends = {p: 10 + len(held) for p, held in samples.items()}
    per_s, retention = chance.uniform(0.02, 5.0), chance.randrange(HOUR_MS)
    log = LogFacts(ends, samples, retention, 1.0, 0.0, NOW, 0)
    takes = sum(len(held) for held in samples.values()) / per_s
    left = [
        (ms + retention - NOW) / 1000 - takes * n / len(held)
        for held in samples.values()
        for n, (_, ms) in enumerate(held)
    ]
    tightest = min(*left, retention / 1000 - takes)
    assert slack_seconds(log, dict.fromkeys(samples, 10), per_s, starting=0.0) == pytest.approx(tightest)


def test_what_is_appended_now_is_read_last_and_must_be_there_then() -> None:
    log = replace(LOG, samples={0: ((1_000, NOW),)}, retention_ms=50_000)
    assert slack_seconds(log, START.offsets, 900.0, starting=0.0) == pytest.approx(50 - 90_000 / 900)


def test_a_log_that_drops_nothing_has_no_slack_and_an_empty_one_all_of_it() -> None:
    assert slack_seconds(replace(LOG, retention_ms=None), START.offsets, 1.0) is None
    assert slack_seconds(replace(LOG, samples={}), dict(LOG.ends), 1.0) == 168 * 3600


def test_nothing_to_read_is_ready_after_the_start() -> None:
    assert eta_seconds(0, Forecast(30.0, 100.0), 0) == 30.0 + SETTLING_SECONDS


STANDING = Standing({0: 31_000, 1: 15_500}, {}, None, None, 45_000, 9.0, 45_000, None)


def test_a_replay_under_way_is_infeasible_once_the_log_dropped_what_it_needs_next() -> None:
    assert infeasible("ad_ctr v5", STANDING, {0: 31_000, 1: 15_500}, LOG, 1_000.0) is None
    said = infeasible("ad_ctr v5", STANDING, {0: 31_000, 1: 15_700}, LOG, None)
    assert said == "the log dropped 200 records of partition 1 before ad_ctr v5 read them"


def test_a_replay_under_way_is_infeasible_once_the_log_will_drop_what_it_needs() -> None:
    short = replace(
        LOG, retention_ms=HOUR_MS, samples={0: ((31_000, NOW - 59 * MINUTE_MS), (46_000, NOW - 50 * MINUTE_MS))}
    )
    assert infeasible("ad_ctr v5", STANDING, {0: 0, 1: 0}, short, 100.0) is None
    said = infeasible("ad_ctr v5", STANDING, {0: 0, 1: 0}, short, 30.0)
    assert said == "the log will drop records 2 min 30 s before ad_ctr v5 gets to them at 30 records/s"
    assert infeasible("ad_ctr v5", STANDING, {0: 0, 1: 0}, short, None) is None


def test_a_partition_that_is_added_meanwhile_is_none_that_a_version_reads() -> None:
    short = replace(LOG, retention_ms=HOUR_MS, samples={0: ((31_000, NOW - 59 * MINUTE_MS),)})
    grown = replace(short, ends={**LOG.ends, 2: 9_000})
    for per_s in (1_000.0, 30.0):
        expected = infeasible("ad_ctr v5", STANDING, {0: 0, 1: 0}, short, per_s)
        assert infeasible("ad_ctr v5", STANDING, {0: 0, 1: 0, 2: 0}, grown, per_s) == expected
    ends = {**STANDING.next_offsets, 2: 9_000}
    read_all = replace(STANDING, lag_events=0, lag_seconds=0.0)
    assert Reading(NOON, State.CATCHING_UP, read_all, ends).unread == 0
