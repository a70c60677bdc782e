"""The plan of a repair, as a value: what is wanted against what was seen, and what is never touched."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from kappa.core.changes import Change, Phase, RunsAs
from kappa.core.job_catalog import JOBS, resolve
from kappa.core.versions import Desired, Health, Lease, State, Version
from kappa.verbs.repair.plan import Action, Kind, Observed, RepairPlan, decide, examine, red_lines
from tests.plugins.fakes import NOON

SETTINGS = resolve(JOBS["ad_ctr"], {})
VERSION = Version(
    "ad_ctr", 1, State.LIVE, Desired.RUNNING, "code", "s", "r", SETTINGS, "ad_events", "topic-one", None, {}
)
WELL = Health(beat_seconds=1.0, commit_seconds=1.0, lag_events=100, lag_seconds=1.0, batch_ms=400)
STUCK = replace(WELL, commit_seconds=301.0, lag_seconds=301.0)
SEEN = Observed(VERSION, WELL, driver_alive=True, lease=None, change=None, serves=True, now=NOON)
LEASE = Lease("ad_ctr", 1, "run-7", "rescale", "anna", "more load", NOON, NOON + timedelta(minutes=15))
AS_IT_IS = RunsAs("code", SETTINGS, 1)
CHANGE = Change(UUID(int=1), "ad_ctr", 1, "rescale", "run-6", Desired.RUNNING, AS_IT_IS, AS_IT_IS, Phase.HELD)
TROUBLES = [replace(SEEN, driver_alive=False), replace(SEEN, health=replace(WELL, beat_seconds=61.0)),
            replace(SEEN, health=STUCK)]  # fmt: skip


def repaired(seen: Observed, *seconds_ago: float) -> Observed:
    """The same, after automatic restarts so many seconds ago."""
    at = tuple(NOON - timedelta(seconds=ago) for ago in seconds_ago)
    return replace(seen, health=replace(seen.health, repairs=at))


def stopped(seen: Observed) -> Observed:
    return replace(seen, version=replace(seen.version, desired=Desired.STOPPED))


def in_state(seen: Observed, state: State) -> Observed:
    return replace(seen, version=replace(seen.version, state=state))


def test_a_version_that_does_its_work_is_left() -> None:
    assert (examine(SEEN).kind, examine(SEEN).action) == (Kind.FINE, Action.LEAVE)


@pytest.mark.parametrize("seen", [SEEN, *TROUBLES, replace(SEEN, change=CHANGE), in_state(SEEN, State.FAILED)])
def test_what_a_lease_holds_is_never_touched_and_its_holder_is_named(seen: Observed) -> None:
    found = examine(replace(seen, lease=LEASE))
    assert (found.kind, found.action) == (Kind.HELD, Action.LEAVE)
    assert "held by a rescale of anna (more load), run run-7" in found.sentence


@pytest.mark.parametrize("seen", [SEEN, *TROUBLES, stopped(SEEN), in_state(SEEN, State.FAILED)])
def test_a_change_that_nobody_holds_is_settled_before_all_else(seen: Observed) -> None:
    found = examine(replace(seen, change=CHANGE))
    assert (found.kind, found.action) == (Kind.ORPHANED, Action.SETTLE)
    assert "a rescale of run run-6 was left half done (held)" in found.sentence


@pytest.mark.parametrize("seen", TROUBLES)
def test_what_is_wanted_stopped_is_left(seen: Observed) -> None:
    assert examine(stopped(seen)).action is Action.LEAVE


@pytest.mark.parametrize("seen", TROUBLES)
@pytest.mark.parametrize("state", [State.RETIRED, State.FAILED])
def test_what_is_over_is_left(seen: Observed, state: State) -> None:
    assert examine(replace(in_state(seen, state), serves=False)).action is Action.LEAVE


def test_a_serving_version_that_gave_up_is_reported_with_the_way_out() -> None:
    found = examine(in_state(SEEN, State.FAILED))
    assert found.action is Action.REPORT
    assert "./kappa start ad_ctr" in found.sentence


def test_a_version_without_a_driver_gets_one() -> None:
    found = examine(replace(SEEN, driver_alive=False))
    assert (found.kind, found.action) == (Kind.GONE, Action.RESTART)


@pytest.mark.parametrize(("beat", "action"), [(60.0, Action.LEAVE), (61.0, Action.REPLACE), (None, Action.REPLACE)])
def test_a_driver_that_is_alive_by_the_cluster_only_is_replaced(beat: float | None, action: Action) -> None:
    assert examine(replace(SEEN, health=replace(WELL, beat_seconds=beat))).action is action


@pytest.mark.parametrize(("launched", "action"), [(119.0, Action.LEAVE), (121.0, Action.REPLACE)])
@pytest.mark.parametrize("beat", [3600.0, None])
def test_a_driver_that_has_just_been_launched_is_given_time(
    launched: float, action: Action, beat: float | None
) -> None:
    seen = replace(SEEN, health=replace(WELL, beat_seconds=beat), launch_seconds=launched)
    assert examine(seen).action is action


def test_a_driver_that_fell_silent_after_its_start_is_given_no_time() -> None:
    seen = replace(SEEN, health=replace(WELL, beat_seconds=70.0), launch_seconds=100.0)
    assert examine(seen).action is Action.REPLACE


HEALTHS = [
    (STUCK, Action.REPLACE),
    (replace(STUCK, commit_seconds=None), Action.REPLACE),
    (replace(STUCK, commit_seconds=299.0), Action.LEAVE),
    (replace(STUCK, lag_seconds=299.0), Action.LEAVE),
    (replace(STUCK, lag_events=0), Action.LEAVE),
]


@pytest.mark.parametrize(("health", "action"), HEALTHS)
def test_a_driver_that_commits_nothing_while_records_wait_is_replaced(health: Health, action: Action) -> None:
    assert examine(replace(SEEN, health=health)).action is action


def test_a_driver_that_was_started_within_five_minutes_is_not_stuck() -> None:
    assert examine(replace(SEEN, health=STUCK, launch_seconds=250.0)).action is Action.LEAVE


@pytest.mark.parametrize("seen", TROUBLES)
def test_a_third_restart_within_the_hour_is_the_last(seen: Observed) -> None:
    found = examine(repaired(seen, 3000, 2000, 1000))
    assert found.action is Action.GIVE_UP
    assert "3 automatic restarts within the hour" in found.sentence
    assert examine(repaired(seen, 3601, 2000, 1000)).action in (Action.RESTART, Action.REPLACE)


BACK_OFFS = [((59.0,), Action.WAIT), ((60.0,), Action.RESTART), ((400.0, 299.0), Action.WAIT),
             ((400.0, 300.0), Action.RESTART), ((4000.0, 3601.0), Action.RESTART)]  # fmt: skip


@pytest.mark.parametrize(("ago", "action"), BACK_OFFS)
def test_restarts_keep_a_growing_distance(ago: tuple[float, ...], action: Action) -> None:
    found = examine(repaired(replace(SEEN, driver_alive=False), *ago))
    assert found.action is action
    assert ("follows in 1 s" in found.sentence) is (action is Action.WAIT)


RED = replace(
    SEEN, health=replace(WELL, red=("topic: it is gone", "silent: no beat", "held: by a run", "stalled: no commit"))
)


def test_red_lines_that_no_restart_mends_are_reported_and_the_others_are_not() -> None:
    (line,) = red_lines(RED)
    assert (line.kind, line.action, line.sentence) == (
        Kind.RED, Action.REPORT, "topic: it is gone; see docs/runbook.md",
    )  # fmt: skip


@pytest.mark.parametrize("seen", [*TROUBLES, repaired(TROUBLES[0], 600.0, 1200.0, 1800.0)])
def test_while_the_log_is_away_nothing_is_restarted_or_given_up(seen: Observed) -> None:
    found = examine(replace(seen, log_answers=False))
    assert (found.kind, found.action) == (Kind.LOG_AWAY, Action.WAIT)
    assert "the log cannot be reached" in found.sentence
    assert examine(replace(SEEN, log_answers=False)).kind is Kind.FINE, "a driver that waits for it does what it should"


def noted(seen: Observed, away: float, back: float | None) -> Observed:
    """The same, where repairs found the log away, and back, so many seconds ago."""
    log_back_at = None if back is None else NOON - timedelta(seconds=back)
    health = replace(seen.health, log_away_at=NOON - timedelta(seconds=away), log_back_at=log_back_at)
    return replace(seen, health=health)


GRACE = [(600.0, None, Action.WAIT), (600.0, 299.0, Action.WAIT), (600.0, 301.0, Action.REPLACE)]


@pytest.mark.parametrize(("away", "back", "action"), GRACE)
@pytest.mark.parametrize("silent", [False, True])
def test_a_driver_is_given_time_once_the_log_is_back(
    away: float, back: float | None, action: Action, silent: bool
) -> None:
    seen = replace(SEEN, health=replace(STUCK, commit_seconds=900.0, beat_seconds=400.0 if silent else 1.0))
    found = examine(noted(seen, away, back))
    assert found.action is action
    assert (found.kind is Kind.LOG_BACK) == (action is Action.WAIT)


def test_an_outage_before_the_latest_commit_gives_no_time_and_a_driver_that_is_gone_needs_none() -> None:
    assert examine(noted(replace(SEEN, health=STUCK), 400.0, None)).action is Action.REPLACE
    assert examine(noted(replace(SEEN, driver_alive=False), 400.0, None)).action is Action.RESTART


def test_a_plan_has_all_versions_and_says_which_findings_act() -> None:
    spend = replace(VERSION, job="client_spend")
    plan = decide([RED, replace(SEEN, version=spend, driver_alive=False)])
    assert [(f.name, f.action) for f in plan.findings] == [
        ("ad_ctr v1", Action.LEAVE), ("ad_ctr v1", Action.REPORT), ("client_spend v1", Action.RESTART),
    ]  # fmt: skip
    assert [f.name for f in plan.acts] == ["client_spend v1"]
    assert ("client_spend v1", "restart: is wanted running and has no driver: one is started") in plan.rows()


def test_a_plan_survives_json() -> None:
    plan = decide([RED])
    assert RepairPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_driver_that_does_its_work_alone_is_given_one_that_stands_by_where_there_is_room() -> None:
    alone = replace(SEEN, standby=False)
    assert (examine(alone).kind, examine(alone).action) == (Kind.ALONE, Action.ADD_STANDBY)
    assert examine(replace(SEEN, standby=True)).action is Action.LEAVE
    cramped = examine(replace(alone, no_room="2 cores of the cluster, which has 0 for it"))
    assert (cramped.action, cramped.sentence.endswith("it would take 2 cores of the cluster, which has 0 for it")) == (
        Action.WAIT, True,
    )  # fmt: skip


@pytest.mark.parametrize("seen", TROUBLES)
def test_trouble_is_mended_before_anything_stands_by(seen: Observed) -> None:
    assert examine(replace(seen, standby=False)).action in (Action.RESTART, Action.REPLACE)
