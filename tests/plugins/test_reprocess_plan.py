"""The plan of a replay, as a value: T, candidates, the price by which it is judged, and one refusal per cause."""

from __future__ import annotations

import ast
import json
import math
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kappa import digests
from kappa.artifacts import Code
from kappa.hooks.registry import BEGINNING, OPEN_END, Segment, Version
from kappa.plans import bands as band_texts
from kappa.plans import reprocess_refusals as refusals
from kappa.plans.approving import LaxerThanPolicy
from kappa.plans.bands import MEASURES, InvalidBand, NoBands, UnknownBand, UnusedBands
from kappa.plans.candidate import ReprocessRequest, given, throttle, want_candidate
from kappa.plans.differences import Parts
from kappa.plans.price import LogFacts, Weight, eta_seconds, infeasible, slack_seconds
from kappa.plans.reprocess import ReprocessPlan, choose_start, decide_reprocess, live_versions
from kappa.plans.start_point import InvalidStart, LogHead, LogTooShort, StartPoint, utc
from kappa.plans.switch import NothingDeployed
from kappa.plans.wanted import Found
from kappa.replays import Approval, Band, Parity, Standing
from kappa.states import Desired, State

from jobs.catalog import JOBS, MINUTE_MS, JobSettingOutOfRange, UnknownJob, UnknownJobSetting, resolve
from jobs.refusals import Refusal

ROOT = Path(__file__).parents[2]
TOPIC = ("ad_events", "topic-one")
CODE = Code("shape", "result", {"fates.py: LATE": "2"})
OTHER = Code("shape", "other result", {"fates.py: LATE": "3"})
BOTH = ("ad_ctr", "client_spend")
T = 1_800_000_000_000 // MINUTE_MS * MINUTE_MS
HOUR_MS = 60 * MINUTE_MS
NOW = T + 10 * HOUR_MS
START = StartPoint("asked", T, {0: 1_000, 1: 500})
LOG = LogFacts(
    ends={0: 61_000, 1: 30_500},
    samples={0: ((1_000, T - 5 * MINUTE_MS),), 1: ((500, T - 4 * MINUTE_MS),)},
    retention_ms=168 * HOUR_MS,
    bytes_per_record=250.0,
    arrivals_per_s=500.0,
    now_ms=NOW,
)
WEIGHT = Weight(rows_bytes=3_000_000, checkpoint_bytes=1_000_000, state_keys=40_000, replays_per_s=5_500.0)
HEAD = LogHead({0: 7, 1: 0}, {0: T - 2 * HOUR_MS - 5 * MINUTE_MS, 1: None})
FINAL: dict[str, int | None] = {"ad_ctr": NOW - 3 * HOUR_MS + 1, "client_spend": NOW - 2 * HOUR_MS}
CLICKS_DOWN = Band("clicks", "down", 50)


def live(job: str, number: int = 4, **settings: int) -> Version:
    """A version of a job from CODE, which serves the live end."""
    resolved = resolve(JOBS[job], settings)
    digest = (digests.state_digest("shape", TOPIC[1]), digests.result_digest("result", JOBS[job], resolved))
    return Version(job, number, State.LIVE, Desired.RUNNING, "code", *digest, resolved, *TOPIC, None, {0: 0, 1: 0})


def found(job: str, **settings: int) -> Found:
    """The live version of a job serves all windows."""
    version = live(job, **settings)
    return Found([version], [Segment(job, BEGINNING, OPEN_END, version.version)], frozenset({version.version}))


def planned(
    *jobs: str,
    code: Code = CODE,
    there: Mapping[str, Found] | None = None,
    log: LogFacts = LOG,
    weight: Weight = WEIGHT,
    free_cores: int = 4,
    **asked: Any,
) -> ReprocessPlan:
    """The plan of replaying jobs (by default both) whose live versions are v4 from CODE, on two cores each."""
    request = ReprocessRequest(jobs or BOTH, **asked)
    there = there or {job: found(job) for job in request.jobs}
    artifact = "code" if code is CODE else "new code"
    wanted = {j.name: want_candidate(request, j, artifact, code, TOPIC, there[j.name]) for j in request.catalogued()}
    weights = dict.fromkeys(request.jobs, weight)
    parts = {job: Parts(CODE.parts, code.parts) for job in request.jobs}
    return decide_reprocess(request, there, wanted, START, log, weights, free_cores, parts)


def started(asked: str, final: Mapping[str, int | None] = FINAL, head: LogHead = HEAD) -> int | None:
    """T for what is asked of both jobs."""
    request = ReprocessRequest(BOTH, start=asked)
    wanted = {
        job.name: want_candidate(request, job, "code", CODE, TOPIC, found(job.name)) for job in request.catalogued()
    }
    return choose_start(request, wanted, head, NOW, final)


def refusal(expected: type[Refusal], *jobs: str, **asked: Any) -> str:
    """The message of the refusal that the plan ends in; it says that nothing was touched."""
    with pytest.raises(expected) as refused:
        planned(*jobs, **asked)
    assert re.search("[Nn]othing was (staged|changed)", str(refused.value))
    return str(refused.value)


def test_each_job_gets_a_candidate_of_a_new_number_from_the_same_t() -> None:
    plan = planned()
    assert [(c.job, c.version, c.live_version) for c in plan.candidates] == [("ad_ctr", 5, 4), ("client_spend", 5, 4)]
    assert (plan.starts_ms, {c.start.starts_ms for c in plan.candidates}) == (T, {T})
    assert plan.candidates[0].records == {0: 60_000, 1: 30_000}
    assert plan.candidates[0].bytes == 90_000 * 250


def test_what_is_staged_is_what_the_plan_says() -> None:
    first = planned().staged()[0]
    assert (first.job, first.version, first.state, first.desired) == ("ad_ctr", 5, State.STAGED, Desired.RUNNING)
    assert (first.starts_at, first.start_offsets) == (datetime.fromtimestamp(T / 1000, UTC), START.offsets)
    assert (first.result_digest, first.generation) == (live("ad_ctr").result_digest, 1)


def test_the_number_follows_every_version_that_ever_was() -> None:
    there = found("ad_ctr")
    gone = replace(live("ad_ctr", 9), state=State.RETIRED)
    assert (
        planned("ad_ctr", there={"ad_ctr": replace(there, versions=[*there.versions, gone])}).candidates[0].version
        == 10
    )


def test_the_price_counts_what_all_candidates_read_and_keep() -> None:
    costs = planned().price
    assert (costs.records, costs.bytes) == (180_000, 180_000 * 250)
    assert (costs.disk_bytes, costs.state_keys) == (8_000_000, 80_000)
    assert costs.eta_seconds == pytest.approx(30 + (90_000 + 30 * 500) / 5_000)
    assert costs.retention_slack_seconds == pytest.approx(158 * 3600 - 300 - 30)
    assert costs.assumed == ()


def test_a_speed_that_was_never_measured_is_assumed_and_said_to_be() -> None:
    plan = planned(weight=replace(WEIGHT, replays_per_s=None))
    assert plan.price.assumed == BOTH
    assert "ad_ctr 7,000/s, assumed" in dict(plan.rows())["ETA"]


def test_the_rows_show_the_price_readably() -> None:
    rows = dict(planned().rows())
    assert rows["records"] == "180,000"
    assert rows["bytes"] == "45.0 MB"
    assert rows["ETA"] == "51 s (ad_ctr 5,500/s, client_spend 5,500/s)"
    assert rows["disk"] == "about 8.0 MB, as the live versions"
    assert rows["state keys"] == "about 80,000"
    assert rows["retention slack"] == "157 h 54 min at the tightest record"
    assert rows["T"] == f"at {utc(T)}"
    assert rows["offsets"] == "partition 0: from 1,000, 60,000 records\npartition 1: from 500, 30,000 records"
    assert rows["cores"] == "4 of 4 free ones"
    assert "the log drops nothing" in dict(planned(log=replace(LOG, retention_ms=None)).rows())["retention slack"]


def test_the_steps_ask_where_the_policy_or_the_request_asks() -> None:
    assert planned().steps == ("stage", "launch", "catch_up", "validate", "approve", "promote")
    assert planned(approval=Approval.ASK).asks


def test_a_proof_asks_nobody_and_throws_its_candidates_away() -> None:
    plan = planned(promote=False)
    assert plan.steps == ("stage", "launch", "catch_up", "validate", "retire")
    assert not plan.asks


def test_other_code_is_replayed_under_declared_parity_and_named() -> None:
    plan = planned(code=OTHER, parity=Parity.DECLARED, bands=(CLICKS_DOWN,))
    assert [d.what for d in plan.candidates[0].differences] == ["fates.py: LATE"]
    assert dict(plan.rows())["parity"] == "declared (clicks:down:50)"
    assert "ad_ctr, client_spend: other logic, so other numbers may come out" in plan.why


def test_settings_that_are_not_named_stay_as_the_live_versions_are() -> None:
    there = {"ad_ctr": found("ad_ctr", click_interval_ms=20_000, executor_cores=1)}
    plan = planned("ad_ctr", there=there, cores=2)
    assert (plan.candidates[0].settings["click_interval_ms"], plan.cores) == (20_000, 2)


def test_a_setting_that_only_some_of_the_jobs_have_counts_for_these() -> None:
    request = ReprocessRequest(("ad_ctr", "quarantine"), settings={"click_interval_ms": "30000"})
    assert given(request, JOBS["ad_ctr"]) == {"click_interval_ms": "30000"}
    assert given(request, JOBS["quarantine"]) == {}
    with pytest.raises(UnknownJobSetting):
        given(replace(request, settings={"no_such": 1}), JOBS["ad_ctr"])


@pytest.mark.parametrize("rate", [2, 3, 7, 99, 100, 101, 1_999, 5_000_000])
@pytest.mark.parametrize("job", JOBS)
def test_a_read_rate_becomes_batches_that_read_no_faster_and_hardly_slower(job: str, rate: int) -> None:
    settings = resolve(JOBS[job], throttle(JOBS[job], rate))
    read = settings["records_per_batch"] / settings["cadence_ms"] * 1000
    assert 0.99 * rate <= read <= rate


def test_a_read_rate_bounds_the_speed_and_the_eta() -> None:
    plan = planned(rate=1_000)
    assert plan.price.speeds == {"ad_ctr": 1_000.0, "client_spend": 1_000.0}
    assert plan.price.eta_seconds == pytest.approx(30 + (90_000 + 15_000) / 500)
    assert planned(settings={"records_per_batch": 2_000, "cadence_ms": 2_000}).price.speeds["ad_ctr"] == 1_000.0


@pytest.mark.parametrize("rate", [-1, 0, 1, 5_000_001])
def test_a_rate_that_no_batches_can_keep_is_refused(rate: int) -> None:
    assert f"a read rate of {rate} records/s" in refusal(refusals.RateOutOfRange, rate=rate)


def test_a_rate_and_the_settings_that_it_becomes_are_not_given_together() -> None:
    assert "records_per_batch" in refusal(refusals.RateGivenTwice, rate=100, settings={"records_per_batch": 500})


def test_cores_out_of_the_catalogues_bounds_are_refused() -> None:
    with pytest.raises(JobSettingOutOfRange):
        planned(cores=0)


def test_earliest_is_the_smallest_exact_t() -> None:
    assert started("earliest") == T - 2 * HOUR_MS
    assert started("earliest", head=LogHead({0: 0, 1: 0}, {0: T, 1: T})) is None


def test_a_log_that_is_whole_needs_no_final_window() -> None:
    whole = LogHead({0: 0, 1: 0}, {0: T, 1: T})
    assert started("earliest", dict.fromkeys(BOTH, None), whole) is None


def test_t_may_be_the_edge_up_to_which_every_live_version_is_final() -> None:
    assert started(utc(NOW - 3 * HOUR_MS)) == NOW - 3 * HOUR_MS


def start_refusal(expected: type[Refusal], asked: str, **facts: Any) -> str:
    """The message of the refusal that the choice of T ends in."""
    with pytest.raises(expected) as refused:
        started(asked, **facts)
    return str(refused.value)


def test_a_later_t_is_refused_with_the_largest_that_is_allowed_and_the_job_that_holds_it_back() -> None:
    said = start_refusal(refusals.StartNotFinal, utc(NOW - 3 * HOUR_MS + MINUTE_MS))
    assert f"the live version of ad_ctr, so these must be final, and the largest T is {utc(NOW - 3 * HOUR_MS)}" in said
    assert "Nothing was staged" in said


def test_before_any_window_is_final_no_t_in_the_log_is_allowed() -> None:
    final = {**FINAL, "client_spend": None}
    said = start_refusal(refusals.StartNotFinal, utc(T), final=final)
    assert "client_spend, so these must be final, and no window of it is final yet" in said


def test_latest_is_no_start_of_a_replay() -> None:
    start_refusal(refusals.StartNotFinal, "latest")


def test_earliest_is_refused_where_the_log_begins_after_the_last_final_window() -> None:
    said = start_refusal(refusals.NoExactStart, "earliest", final=dict.fromkeys(BOTH, T - 3 * HOUR_MS))
    assert f"the smallest exact start is {utc(T - 2 * HOUR_MS)}" in said
    assert "Nothing was staged" in said


def test_a_t_that_the_log_does_not_reach_back_to_is_refused() -> None:
    start_refusal(LogTooShort, utc(T - 2 * HOUR_MS - MINUTE_MS))
    start_refusal(InvalidStart, "soon")


def test_a_job_that_does_not_serve_is_not_replayed() -> None:
    staged = Found([replace(live("ad_ctr"), state=State.STAGED)], [])
    with pytest.raises(NothingDeployed):
        planned("ad_ctr", there={"ad_ctr": staged})
    with pytest.raises(NothingDeployed):
        live_versions(ReprocessRequest(("ad_ctr",)), {"ad_ctr": Found([], [])})


def test_a_replay_of_no_job_or_of_an_unknown_one_is_refused() -> None:
    with pytest.raises(refusals.NoJobs):
        ReprocessRequest(()).catalogued()
    with pytest.raises(UnknownJob):
        ReprocessRequest(("nothing",)).catalogued()


def test_a_job_that_is_named_twice_is_replayed_once() -> None:
    assert [job.name for job in ReprocessRequest(("client_spend", "ad_ctr", "ad_ctr")).catalogued()] == list(BOTH)


def test_more_cores_than_are_free_are_refused_with_both_numbers() -> None:
    said = refusal(refusals.NoFreeCores, free_cores=3)
    assert "ad_ctr, client_spend would take 4 cores of the worker, and 3 are free" in said
    assert planned(cores=1, free_cores=2).cores == 2


def test_with_an_executor_the_driver_takes_a_core_more() -> None:
    assert planned("ad_ctr", settings={"executors": 1}).cores == 3


@pytest.mark.parametrize("asked", [{"code": OTHER}, {"settings": {"click_interval_ms": 30_000}}])
def test_exact_parity_of_other_logic_is_refused_naming_what_differs(asked: dict[str, Any]) -> None:
    said = refusal(refusals.ExactParityOfOtherLogic, **asked)
    assert "--parity declared" in said
    assert ("fates.py: LATE" in said) or ("click_interval_ms  10000  30000" in said)


def test_exact_parity_allows_what_only_tunes() -> None:
    plan = planned(settings={"state_partitions": 4}, rate=800)
    assert [d.what for d in plan.candidates[0].differences] == ["cadence_ms", "records_per_batch", "state_partitions"][
        1:
    ]
    assert "ad_ctr, client_spend: the same logic, so the same rows are to come out" in plan.why


def test_bands_and_parity_have_to_go_together() -> None:
    assert "at least one band" in refusal(NoBands, parity=Parity.DECLARED)
    assert "clicks:down:50" in refusal(UnusedBands, parity=Parity.REPORT, bands=(CLICKS_DOWN,))


def test_a_band_of_no_measure_of_the_jobs_is_refused() -> None:
    unknown = (Band("ctr", "up", None),)
    assert "'ctr'" in refusal(UnknownBand, parity=Parity.DECLARED, bands=unknown)
    assert "(they have none)" in refusal(UnknownBand, "quarantine", parity=Parity.DECLARED, bands=(CLICKS_DOWN,))


def test_the_measures_that_bands_may_name_are_those_of_the_rows() -> None:
    tree = ast.parse((ROOT / "jobs" / "schemas.py").read_text())
    assigned = {
        n.targets[0].id: n.value for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    }
    assert ast.literal_eval(assigned["MEASURES"]) == MEASURES


@pytest.mark.parametrize("written", ["clicks:down:50", "clicks:any", "seen_clicks:up:0"])
def test_a_band_is_written_as_it_is_read(written: str) -> None:
    assert band_texts.text(band_texts.read(written)) == written


@pytest.mark.parametrize("written", ["", "clicks", "clicks:less", "clicks:down:-1", "clicks:down:5:5", ":down"])
def test_what_is_no_band_is_refused(written: str) -> None:
    with pytest.raises(InvalidBand, match="nothing was changed"):
        band_texts.read(written)


def test_a_laxer_approval_than_the_policy_is_refused() -> None:
    refusal(LaxerThanPolicy, approval=Approval.AUTO)


def test_a_replay_that_is_slower_than_the_producers_is_refused() -> None:
    said = refusal(refusals.NeverCatchesUp, rate=500)
    assert "at 500 records/s would never catch up with the 500 that arrive each second" in said
    assert math.isinf(eta_seconds(10, 500, 500))


def test_a_log_that_will_be_too_short_is_refused_with_a_start_that_is_safe() -> None:
    short = replace(LOG, retention_ms=10 * HOUR_MS + 5 * MINUTE_MS)
    said = refusal(refusals.LogWillBeTooShort, log=short)
    assert "would come 30 s too late" in said
    safe = datetime.fromisoformat(re.search(r"Start at (\S+) or later", said)[1]).timestamp() * 1000  # type: ignore[index]
    appended = safe - 5 * MINUTE_MS
    assert appended + short.retention_ms - NOW >= (30 + 90_000 / 5_500) * 1000
    assert safe < T + 2 * MINUTE_MS


@pytest.mark.parametrize("seed", range(100))
def test_the_slack_is_that_of_a_replay_played_record_by_record(seed: int) -> None:
    chance = random.Random(seed)
    samples: dict[int, tuple[tuple[int, int], ...]] = {}
    for partition in range(3):
        times = sorted(NOW - chance.randrange(HOUR_MS) for _ in range(chance.randrange(1, 60)))
        samples[partition] = tuple((10 + n, ms) for n, ms in enumerate(times))
    ends = {p: 10 + len(held) for p, held in samples.items()}
    per_s, retention = chance.uniform(0.02, 5.0), chance.randrange(HOUR_MS)
    log = LogFacts(ends, samples, retention, 1.0, 0.0, NOW)
    takes = sum(len(held) for held in samples.values()) / per_s
    left = [
        (ms + retention - NOW) / 1000 - takes * n / len(held)
        for held in samples.values()
        for n, (_, ms) in enumerate(held)
    ]
    tightest = min(*left, retention / 1000 - takes)
    assert slack_seconds(log, dict.fromkeys(samples, 10), per_s, starting=0.0) == pytest.approx(tightest)


def test_a_log_that_drops_nothing_has_no_slack_and_an_empty_one_all_of_it() -> None:
    assert slack_seconds(replace(LOG, retention_ms=None), START.offsets, 1.0) is None
    assert slack_seconds(replace(LOG, samples={}), dict(LOG.ends), 1.0) == 168 * 3600


def test_nothing_to_read_is_ready_after_the_start() -> None:
    assert eta_seconds(0, 100, 0) == 30.0


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


def test_windows_are_compared_from_where_both_versions_hold_them_whole() -> None:
    later = replace(live("ad_ctr"), starts_at=datetime.fromtimestamp(T / 1000 + 3600, UTC))
    there = replace(found("ad_ctr"), versions=[later])
    assert planned("ad_ctr", there={"ad_ctr": there}).candidates[0].compared_from_ms == T + HOUR_MS
    assert planned("ad_ctr").candidates[0].compared_from_ms == T


def test_the_replay_of_a_plan_names_candidates_and_what_they_are_compared_with() -> None:
    made = planned(reason="because").replay(UUID(int=7), "run-9", "anna")
    assert (made.versions, made.live) == (dict.fromkeys(BOTH, 5), dict.fromkeys(BOTH, 4))
    assert (made.starts_ms, made.asked_by, made.reason, made.approval) == (T, "anna", "because", Approval.ASK)
    assert made.price["records"] == 180_000


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"code": OTHER, "parity": Parity.DECLARED, "bands": (CLICKS_DOWN, Band("clicks", "any", None))},
        {"promote": False},
    ],
)
def test_a_plan_survives_json(asked: dict[str, Any]) -> None:
    plan = planned(**asked)
    assert ReprocessPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_request_survives_json_and_may_leave_out_what_is_as_by_default() -> None:
    words = {"parity": Parity.DECLARED, "approval": Approval.ASK}
    asked = ReprocessRequest(BOTH, utc(T), "abc", {"cadence_ms": 5}, bands=(CLICKS_DOWN,), cores=2, rate=900, **words)  # type: ignore[arg-type]
    assert ReprocessRequest.from_json(json.loads(json.dumps(asked.to_json()))) == asked
    assert ReprocessRequest.from_json({"jobs": ["ad_ctr"]}) == ReprocessRequest(("ad_ctr",))


@pytest.mark.parametrize("policy", list(Approval))
def test_the_approval_policy_is_in_no_digest(policy: Approval) -> None:
    job = JOBS["ad_ctr"]
    other = replace(job, approval=policy)
    code = ROOT / "jobs"
    assert digests.result_code(code, other) == digests.result_code(code, job)
    assert digests.state_shape(code, other) == digests.state_shape(code, job)
    assert digests.parts(code, other) == digests.parts(code, job)
