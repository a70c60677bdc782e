"""The plan of a replay, as a value: candidates, what it shows, and one refusal per cause."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from kappa.code import digests
from kappa.code.artifacts import Code
from kappa.core.job_catalog import JOBS, JobSettingOutOfRange, UnknownJob, UnknownJobSetting
from kappa.core.replays import Approval
from kappa.core.requests.fields import read, write
from kappa.core.requests.reprocessing import NoJobs, ReprocessRequest
from kappa.core.validation import Band, Direction, Parity
from kappa.core.verb_steps import ReplayStep
from kappa.core.versions import BEGINNING, OPEN_END, Desired, Segment, State
from kappa.verbs.desired import Found
from kappa.verbs.drivers.size import DoesNotFit
from kappa.verbs.replay.candidate import NoFreeCores, given
from kappa.verbs.replay.plan import ExactParityOfOtherLogic, LaxerThanPolicy, ReprocessPlan, live_versions
from kappa.verbs.replay.uncompared import ReplacesUncompared, replaced
from kappa.verbs.start_point import utc
from kappa.verbs.stop.plan import NothingDeployed
from tests.plugins.replay_plans import (
    BOTH,
    CLICKS_DOWN,
    CODE,
    HOUR_MS,
    OTHER,
    ROOT,
    START,
    T,
    found,
    live,
    planned,
    refusal,
)


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


def test_the_steps_ask_where_the_policy_or_the_request_asks() -> None:
    assert planned().steps == tuple(ReplayStep)
    assert planned(approval=Approval.ASK).asks


def test_a_proof_asks_nobody_and_throws_its_candidates_away() -> None:
    plan = planned(promote=False)
    assert plan.steps == tuple(ReplayStep)[:3]
    assert not plan.asks


def test_other_code_is_replayed_under_declared_parity_and_named() -> None:
    plan = planned(code=OTHER, parity=Parity.DECLARED, bands=(CLICKS_DOWN,))
    assert [d.what for d in plan.candidates[0].differences] == ["plugins/kappa/core/fates.py: LATE"]
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


def test_cores_out_of_the_catalogues_bounds_are_refused() -> None:
    with pytest.raises(JobSettingOutOfRange):
        planned(cores=0)


def test_a_job_that_does_not_serve_is_not_replayed() -> None:
    staged = Found([replace(live("ad_ctr"), state=State.STAGED)], [])
    with pytest.raises(NothingDeployed):
        planned("ad_ctr", there={"ad_ctr": staged})
    with pytest.raises(NothingDeployed):
        live_versions({"ad_ctr": Found([], [])})


def test_a_replay_of_no_job_or_of_an_unknown_one_is_refused() -> None:
    with pytest.raises(NoJobs):
        ReprocessRequest(()).catalogued()
    with pytest.raises(UnknownJob):
        ReprocessRequest(("nothing",)).catalogued()


def test_a_job_that_is_named_twice_is_replayed_once() -> None:
    assert [job.name for job in ReprocessRequest(("client_spend", "ad_ctr", "ad_ctr")).catalogued()] == list(BOTH)


def test_more_cores_than_are_free_are_refused_with_both_numbers() -> None:
    said = refusal(NoFreeCores, free_cores=3)
    assert "ad_ctr, client_spend would take 4 cores of the cluster, and 3 are free" in said
    assert planned(cores=1, free_cores=2).cores == 2


def test_executors_that_no_hosts_could_hold_are_refused_though_the_cores_are_free() -> None:
    """The plan is made on one host of 16 cores and 8,192 MB: memory is for 7 executors of 1,024 MB beside a driver."""
    many = {"executors": 8, "executor_memory_mb": 1024}
    said = refusal(DoesNotFit, "ad_ctr", settings=many, cores=1, free_cores=16)
    assert "ad_ctr would take 8,704 MB of the cluster's memory, which has 8,192 MB for it" in said
    assert planned("ad_ctr", settings={**many, "executors": 7}, cores=1, free_cores=16).cores == 8


def test_with_an_executor_the_driver_takes_a_core_more() -> None:
    assert planned("ad_ctr", settings={"executors": 1}).cores == 3


@pytest.mark.parametrize("asked", [{"code": OTHER}, {"settings": {"click_interval_ms": 30_000}}])
def test_exact_parity_of_other_logic_is_refused_naming_what_differs(asked: dict[str, Any]) -> None:
    said = refusal(ExactParityOfOtherLogic, **asked)
    assert "--parity declared" in said
    assert ("plugins/kappa/core/fates.py: LATE" in said) or ("click_interval_ms  10000  30000" in said)


def test_exact_parity_may_show_that_an_upgrade_changes_no_number() -> None:
    upgraded = Code("shape", "other result", {**CODE.parts, "environment: pyspark": "4.2.1"})
    plan = planned(code=upgraded)
    assert [(d.what, d.old, d.new) for d in plan.candidates[0].differences] == [
        ("environment: pyspark", "unknown", "4.2.1")
    ]
    refusal(
        ExactParityOfOtherLogic,
        code=replace(upgraded, parts={**upgraded.parts, "plugins/kappa/core/fates.py: LATE": "3"}),
    )


def test_exact_parity_allows_what_only_tunes() -> None:
    plan = planned(settings={"state_partitions": 4}, rate=800)
    assert [d.what for d in plan.candidates[0].differences] == ["cadence_ms", "records_per_batch", "state_partitions"]
    assert "ad_ctr, client_spend: the same logic, so the same rows are to come out" in plan.why


def test_a_laxer_approval_than_the_policy_is_refused() -> None:
    refusal(LaxerThanPolicy, approval=Approval.AUTO)


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
        {"code": OTHER, "parity": Parity.DECLARED, "bands": (CLICKS_DOWN, Band("impressions", Direction.ANY, None))},
        {"promote": False},
    ],
)
def test_a_plan_survives_json(asked: dict[str, Any]) -> None:
    plan = planned(**asked)
    assert ReprocessPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_request_survives_json_and_may_leave_out_what_is_as_by_default() -> None:
    words = {"parity": Parity.DECLARED, "approval": Approval.ASK}
    asked = ReprocessRequest(BOTH, utc(T), "abc", {"cadence_ms": 5}, bands=(CLICKS_DOWN,), cores=2, rate=900, **words)  # type: ignore[arg-type]
    assert read(ReprocessRequest, json.loads(json.dumps(write(asked)))) == asked
    assert read(ReprocessRequest, {"jobs": ["ad_ctr"]}) == ReprocessRequest(("ad_ctr",))


@pytest.mark.parametrize("policy", list(Approval))
def test_the_approval_policy_is_in_no_digest(policy: Approval) -> None:
    job = JOBS["ad_ctr"]
    other = replace(job, approval=policy)
    code = ROOT
    assert digests.result_code(code, other, {}) == digests.result_code(code, job, {})
    assert digests.state_shape(code, other) == digests.state_shape(code, job)
    assert digests.parts(code, other, {}) == digests.parts(code, job, {})


def _later() -> dict[str, Found]:
    """v3 serves what is older than the live v4, which began an hour after T."""
    since, at = datetime.fromtimestamp(T / 1000, UTC) + timedelta(hours=1), "ad_ctr"
    new, old = replace(live(at), starts_at=since), replace(live(at, 3), state=State.PREVIOUS)
    edge = since.isoformat(sep=" ")
    return {at: Found([old, new], [Segment(at, BEGINNING, edge, 3), Segment(at, edge, OPEN_END, 4)], frozenset({4}))}


@pytest.mark.parametrize("asked", [{}, {"parity": Parity.DECLARED, "bands": (CLICKS_DOWN,)}])
def test_windows_of_an_earlier_version_are_not_replaced_without_having_been_compared(asked: dict[str, Any]) -> None:
    said = refusal(ReplacesUncompared, "ad_ctr", there=_later(), **asked)
    assert "compared with the live v4 only" in said
    assert "it would also replace the windows of v3 (-infinity to " in said
    assert f"--from {utc(T + HOUR_MS)}" in said


def test_a_person_may_answer_for_what_is_replaced_without_having_been_compared() -> None:
    plan = planned("ad_ctr", there=_later(), parity=Parity.REPORT, approval=Approval.ASK)
    (said,) = [text for name, text in plan.rows() if name == "replaced, but not compared"]
    assert said.startswith("ad_ctr: the windows of v3 (-infinity to ")
    assert ReprocessPlan.from_json(json.loads(json.dumps(plan.to_json()))).uncompared == plan.uncompared


def test_a_replay_that_promotes_nothing_replaces_nothing() -> None:
    assert planned("ad_ctr", there=_later(), promote=False).uncompared == ()


def test_from_where_the_live_version_starts_on_nothing_else_is_replaced() -> None:
    held = _later()["ad_ctr"]
    assert [s.version for s in replaced("ad_ctr", held.versions[1], held.segments, T)] == [3]
    assert replaced("ad_ctr", held.versions[1], held.segments, T + HOUR_MS) == ()
    assert [s.version for s in replaced("ad_ctr", held.versions[1], held.segments, None)] == [3]
