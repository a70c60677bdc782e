"""Which versions are stopped and retired, as a value: windows of time, and what is never touched."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from kappa.core.versions import BEGINNING, OPEN_END, Desired, Segment, State, Version
from kappa.verbs.retire.plan import Action, RetirePlan, Windows, decide_retire, kept_until
from tests.plugins.fakes import NOON
from tests.seeds import any_seed

HOUR = timedelta(hours=1)
EDGE = "2027-01-15 08:00:00+00"
KEY = ("ad_ctr", 2)


def a_version(number: int, state: State, desired: Desired = Desired.RUNNING, job: str = "ad_ctr") -> Version:
    return Version(job, number, state, desired, "code", "s", "r", {}, "ad_events", "topic-one", None, {})


LIVE = a_version(3, State.LIVE)
SERVED = (Segment("ad_ctr", BEGINNING, OPEN_END, 3),)
SHARED = (Segment("ad_ctr", BEGINNING, EDGE, 2), Segment("ad_ctr", EDGE, OPEN_END, 3))


def verdict(
    version: Version, age: timedelta | None, live: Version = LIVE, segments: tuple[Segment, ...] = SERVED, **facts: Any
) -> tuple[Action, str]:
    """What becomes of ad_ctr v2, beside a live version, so long after it became previous or its replay ended."""
    ages: Mapping[tuple[str, int], datetime | None] = {KEY: None if age is None else NOON - age}
    plan = decide_retire([version, live], segments, facts.pop("pins", ()), ages, NOON, **facts)
    found = next(v for v in plan.verdicts if (v.job, v.version) == KEY)
    return found.action, found.why


@pytest.mark.parametrize("state", [State.PREVIOUS, State.CAUGHT_UP, State.CATCHING_UP])
@pytest.mark.parametrize(
    ("age", "running", "stopped"),
    [
        (HOUR - timedelta(seconds=1), Action.KEEP, Action.KEEP),
        (HOUR, Action.STOP, Action.KEEP),
        (25 * HOUR - timedelta(seconds=1), Action.STOP, Action.KEEP),
        (25 * HOUR, Action.RETIRE, Action.RETIRE),
    ],
)
def test_it_runs_for_an_hour_is_kept_for_a_day_more_and_then_retired(
    state: State, age: timedelta, running: Action, stopped: Action
) -> None:
    assert verdict(a_version(2, state), age)[0] is running
    assert verdict(a_version(2, state, Desired.STOPPED), age)[0] is stopped


def test_the_settings_say_how_long() -> None:
    windows = Windows(rollback=timedelta(minutes=1), state=timedelta(minutes=2), candidate=timedelta(0))
    assert verdict(a_version(2, State.PREVIOUS), timedelta(minutes=1), windows=windows)[0] is Action.STOP
    assert verdict(a_version(2, State.PREVIOUS), timedelta(minutes=3), windows=windows)[0] is Action.RETIRE
    assert verdict(a_version(2, State.CAUGHT_UP), timedelta(0), windows=windows)[0] is Action.STOP
    assert kept_until(NOON, windows) == NOON + timedelta(minutes=3)


def test_what_only_an_old_segment_names_is_stopped_and_never_retired() -> None:
    running, stopped = a_version(2, State.PREVIOUS), a_version(2, State.PREVIOUS, Desired.STOPPED)
    assert verdict(running, 2 * HOUR, segments=SHARED)[0] is Action.STOP
    assert verdict(running, 9_999 * HOUR, segments=SHARED)[0] is Action.STOP
    assert verdict(stopped, 9_999 * HOUR, segments=SHARED)[0] is Action.KEEP
    assert "a segment names it" in verdict(stopped, 9_999 * HOUR, segments=SHARED)[1]


def test_a_pinned_version_is_left_alone() -> None:
    assert verdict(a_version(2, State.PREVIOUS), 9_999 * HOUR, pins={KEY}) == (Action.KEEP, "it is pinned")


def test_a_version_that_a_run_is_at_work_on_is_left_alone_and_the_run_is_named() -> None:
    busy = {KEY: "its replay of run-7 is open"}
    assert verdict(a_version(2, State.CAUGHT_UP), 9_999 * HOUR, busy=busy) == (Action.KEEP, busy[KEY])


def test_the_last_good_version_is_kept_while_the_live_one_has_failed() -> None:
    failed = a_version(3, State.FAILED)
    assert verdict(a_version(2, State.PREVIOUS), 9_999 * HOUR, live=failed) == (
        Action.KEEP, "it is the last good one: the live version has failed"
    )  # fmt: skip
    older = decide_retire(
        [a_version(1, State.PREVIOUS), a_version(2, State.PREVIOUS), failed], SERVED, (),
        {("ad_ctr", 1): NOON - 99 * HOUR, KEY: NOON - 98 * HOUR}, NOON,
    )  # fmt: skip
    assert [v.action for v in older.verdicts] == [Action.RETIRE, Action.KEEP, Action.KEEP]


def test_the_version_at_the_live_end_is_left_alone_in_whatever_state() -> None:
    for state in (State.LIVE, State.FAILED, State.PREVIOUS):
        live = Segment("ad_ctr", BEGINNING, OPEN_END, 2)
        assert verdict(a_version(2, state), 9_999 * HOUR, segments=(live,)) == (Action.KEEP, "it serves the live end")


def test_a_version_of_unknown_age_is_kept() -> None:
    assert "since when is not known" in verdict(a_version(2, State.PREVIOUS), None)[1]
    assert "its deployment is not finished" in verdict(a_version(2, State.STAGED), None)[1]
    assert verdict(a_version(2, State.FAILED), None)[0] is Action.KEEP


def test_a_candidate_that_failed_has_nothing_to_stop_and_is_retired_in_time() -> None:
    assert verdict(a_version(2, State.FAILED), 2 * HOUR)[0] is Action.KEEP
    assert verdict(a_version(2, State.FAILED), 25 * HOUR)[0] is Action.RETIRE


def test_what_is_retired_already_is_not_in_the_plan() -> None:
    assert decide_retire([a_version(1, State.RETIRED)], (), (), {}, NOON).verdicts == ()


def test_another_jobs_version_of_the_same_number_protects_nothing() -> None:
    other = (*SERVED, Segment("client_spend", BEGINNING, OPEN_END, 2))
    facts = {"pins": {("client_spend", 2)}, "busy": {("client_spend", 2): "open"}, "segments": other}
    assert verdict(a_version(2, State.PREVIOUS), 25 * HOUR, **facts)[0] is Action.RETIRE  # type: ignore[arg-type]


@any_seed(200)
def test_nothing_that_is_protected_is_ever_acted_on(seed: int) -> None:
    chance = random.Random(seed)
    states = [*State]
    versions = [a_version(n, chance.choice(states), chance.choice([*Desired])) for n in range(1, 7)]
    edges = [BEGINNING, EDGE, OPEN_END]
    segments = [Segment("ad_ctr", a, b, chance.randrange(1, 7)) for a, b in pairwise(edges)]
    keys = [("ad_ctr", n) for n in range(1, 7)]
    pins, busy = set(chance.sample(keys, 1)), dict.fromkeys(chance.sample(keys, 1), "open")
    ages = {key: chance.choice([None, NOON - chance.randrange(60) * HOUR]) for key in keys}
    plan = decide_retire(versions, segments, pins, ages, NOON, busy=busy)
    retired = {v.version for v in plan.of(Action.RETIRE)}
    stopped = {v.version for v in plan.of(Action.STOP)}
    safe = (
        {n for _, n in pins | set(busy)}
        | {segments[-1].version}
        | {v.version for v in versions if v.state is State.LIVE}
    )
    assert not (retired | stopped) & safe
    assert not retired & {s.version for s in segments}
    young = {n for (_, n), since in ages.items() if since is None or NOON - since < HOUR}
    assert not (retired | stopped) & young


def test_the_plan_says_why_and_survives_json() -> None:
    plan = decide_retire([a_version(2, State.PREVIOUS), LIVE], SERVED, (), {KEY: NOON - 2 * HOUR}, NOON)
    assert dict(plan.rows())["ad_ctr v3"] == "keep: it serves the live end"
    assert dict(plan.rows())["ad_ctr v2"].startswith("stop: previous since ")
    assert RetirePlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_keeping_says_until_when() -> None:
    kept = verdict(a_version(2, State.PREVIOUS), timedelta(minutes=10))[1]
    assert kept.endswith(f"it runs on until {NOON + timedelta(minutes=50):%Y-%m-%dT%H:%M:%SZ}")
    stopped = replace(a_version(2, State.PREVIOUS), desired=Desired.STOPPED)
    until = NOON - 2 * HOUR + 25 * HOUR
    assert verdict(stopped, 2 * HOUR)[1].endswith(f"rows and state are kept until {until:%Y-%m-%dT%H:%M:%SZ}")
