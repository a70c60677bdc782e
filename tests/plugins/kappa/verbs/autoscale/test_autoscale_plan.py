"""Which advice the policy lets through: off by default, within bounds and hours, once within a cool-down."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kappa.core.advice.size import Advice, Size
from kappa.core.installation.autoscaling import Autoscaling
from kappa.verbs.autoscale.plan import AutoscalePlan, decide_autoscale, within

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
ON = Autoscaling(enabled=True)
PRESENT = {"executor_cores": 2, "executors": 0, "state_partitions": 2, "cadence_ms": 1_000}
MORE = Advice("ad_ctr", 1, Size.MORE, "it is overrun", {"executor_cores": 4, "state_partitions": 4}, PRESENT)
FEWER = replace(MORE, size=Size.FEWER, wanted={"executor_cores": 1})


def decided(advice: Advice, policy: Autoscaling = ON, asked: datetime | None = None) -> tuple[bool, str]:
    [decision] = decide_autoscale([advice], policy, {"ad_ctr": asked} if asked else {}, NOON).decisions
    return decision.applied, decision.why


def test_by_default_it_is_off_and_says_so() -> None:
    plan = decide_autoscale([MORE], Autoscaling(), {}, NOON)
    assert (plan.decisions, plan.applied) == ((), ())
    assert plan.sentence().startswith("the policy is off")
    assert plan.rows() == [("policy", plan.sentence()[:-1])]


def test_what_is_advised_within_the_policy_is_asked_for() -> None:
    plan = decide_autoscale([MORE, replace(FEWER, job="client_spend")], ON, {}, NOON)
    assert [each.advice.command for each in plan.applied] == [
        "./kappa rescale ad_ctr --cores 4 --partitions 4", "./kappa rescale client_spend --cores 1",
    ]  # fmt: skip
    assert "./kappa rescale ad_ctr --cores 4 --partitions 4 (ad_ctr v1: within the policy; it is overrun)" in (
        plan.sentence()
    )


def test_of_several_jobs_that_are_overrun_one_grows_at_a_time() -> None:
    """Each was advised all that is free."""
    plan = decide_autoscale([MORE, replace(MORE, job="client_spend"), replace(FEWER, job="quarantine")], ON, {}, NOON)
    assert [each.advice.job for each in plan.applied] == ["ad_ctr", "quarantine"]
    assert plan.decisions[1].why == "ad_ctr grows first, by what is free"


def test_never_twice_within_the_cool_down() -> None:
    policy = replace(ON, cool_down_minutes=30)
    soon = decided(MORE, policy, NOON - timedelta(minutes=29, seconds=59))
    assert soon == (False, "it was rescaled so at 2026-01-31T11:30Z, within the cool-down of 30 min")
    assert decided(MORE, policy, NOON - timedelta(minutes=30))[0]


@pytest.mark.parametrize(
    ("hours", "applied"),
    [("", True), ("12:00-13:00", True), ("11:00-12:00", False), ("22:00-12:01", True), ("22:00-06:00", False)],
)
def test_only_within_the_hours(hours: str, applied: bool) -> None:
    assert decided(MORE, replace(ON, hours=hours))[0] is applied


@pytest.mark.parametrize(
    "advice",
    [
        replace(MORE, size=Size.NONE, wanted={}),
        replace(MORE, size=Size.LARGER_BATCHES, wanted={"records_per_batch": 9}),
    ],
)
def test_without_advice_on_a_size_nothing_is_asked_for(advice: Advice) -> None:
    plan = decide_autoscale([advice], ON, {}, NOON)
    assert plan.applied == ()
    assert plan.sentence().startswith("no job is rescaled: ad_ctr: no")


@pytest.mark.parametrize(
    ("advice", "bounds", "left"),
    [
        (MORE, {}, {"executor_cores": 4, "state_partitions": 4}),
        (MORE, {"most_cores": 3}, {"executor_cores": 3, "state_partitions": 4}),
        (MORE, {"most_partitions": 3}, {"executor_cores": 4, "state_partitions": 3}),
        (MORE, {"most_partitions": 2}, {"executor_cores": 4}),
        (MORE, {"most_cores": 2}, {"state_partitions": 4}),
        (MORE, {"most_cores": 1}, {"state_partitions": 4}),
        (FEWER, {}, {"executor_cores": 1}),
        (FEWER, {"least_cores": 2}, {}),
        (FEWER, {"least_cores": 3}, {}),
        (replace(MORE, wanted={"executors": 8}, numbers={**PRESENT, "executors": 3}), {}, {"executors": 4}),
        (replace(MORE, wanted={"executors": 8}, numbers={**PRESENT, "executors": 6}), {}, {}),
    ],
)
def test_the_bounds_cut_down_and_never_turn_an_advice_round(
    advice: Advice, bounds: dict[str, int], left: dict[str, int]
) -> None:
    assert within(advice, replace(ON, **bounds)) == left  # type: ignore[arg-type]


@pytest.mark.parametrize("most_cores", [1, 2])
def test_more_state_partitions_alone_are_no_rescale(most_cores: int) -> None:
    applied, why = decided(MORE, replace(ON, most_cores=most_cores))
    assert (applied, "outside of the policy's bounds" in why) == (False, True)


def test_a_plan_survives_json() -> None:
    plan = decide_autoscale([MORE, replace(MORE, size=Size.NONE, wanted={})], ON, {}, NOON)
    assert AutoscalePlan.from_json(plan.to_json()) == plan
