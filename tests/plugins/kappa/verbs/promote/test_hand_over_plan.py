"""The plan of a hand-over, as a value: what moves, forward and back, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kappa.core.job_catalog import MINUTE_MS
from kappa.core.refusals import Refusal
from kappa.core.replays import Release, Standing
from kappa.core.versions import BEGINNING, OPEN_END, Desired, Segment, State, Version
from kappa.verbs.promote.plan import (
    CandidateNotCaughtUp,
    HandOverPlan,
    LiveHasChanged,
    NothingToRollBackTo,
    NotReleasedTogether,
    PreviousRetired,
    SegmentsOfNoRelease,
    back,
    forward,
    rollback_rows,
    standing_releases,
)
from tests.plugins.fakes import NOON
from tests.plugins.hand_overs import (
    BOTH,
    JOBS,
    NAMED,
    T,
    a_replay,
    first,
    random_case,
    released,
    whole,
)
from tests.seeds import any_seed


def test_a_replay_from_t_leaves_the_windows_before_to_the_old_version() -> None:
    plan = forward(BOTH, a_replay())
    assert plan.after == (
        Segment("ad_ctr", BEGINNING, NAMED, 1),
        Segment("ad_ctr", NAMED, OPEN_END, 2),
        Segment("client_spend", BEGINNING, NAMED, 4),
        Segment("client_spend", NAMED, OPEN_END, 5),
    )
    assert (plan.jobs, plan.targets, plan.olds) == (
        JOBS,
        {"ad_ctr": 2, "client_spend": 5},
        {"ad_ctr": 1, "client_spend": 4},
    )
    assert (plan.from_window, plan.undoes, plan.in_force) == (NAMED, None, False)


def test_a_replay_that_starts_with_the_log_takes_all_windows() -> None:
    plan = forward(BOTH, a_replay(None))
    assert plan.after == whole(version=2) + whole("client_spend", 5)
    assert plan.from_window == BEGINNING


def test_other_jobs_segments_are_not_in_the_plan() -> None:
    plan = forward(BOTH, a_replay(ad_ctr=2))
    assert {s.job for s in plan.before + plan.after} == {"ad_ctr"}


def test_a_promotion_that_was_made_already_is_in_force() -> None:
    after = forward(BOTH, a_replay()).after
    again = forward(after, a_replay())
    assert again.in_force
    assert again.before == again.after == after
    assert again.olds == {"ad_ctr": 1, "client_spend": 4}


def test_a_second_roll_back_goes_one_release_further_and_never_forward_again() -> None:
    second = forward(whole(), a_replay(None, ad_ctr=2))
    third = forward(second.after, replace(a_replay(ad_ctr=3), live={"ad_ctr": 2}))
    releases = [first(), released(second, 2), released(third, 3)]
    once = back(releases, third.after, ["ad_ctr"])
    twice = back([*releases, released(once, 4)], once.after, ["ad_ctr"])
    assert (once.undoes, once.targets, twice.undoes, twice.targets) == (3, {"ad_ctr": 2}, 2, {"ad_ctr": 1})
    with pytest.raises(NothingToRollBackTo, match="release 1 was its first"):
        back([*releases, released(once, 4), released(twice, 5)], twice.after, ["ad_ctr"])


def test_what_was_rolled_back_can_be_promoted_again_and_rolled_back_again() -> None:
    up = forward(whole(), a_replay(ad_ctr=2))
    down = back([first(), released(up, 2)], up.after, ["ad_ctr"])
    again = forward(down.after, a_replay(ad_ctr=2))
    releases = [first(), released(up, 2), released(down, 3), released(again, 4)]
    assert [r.release_id for r in standing_releases("ad_ctr", releases)] == [1, 4]
    assert back(releases, again.after, ["ad_ctr"]).after == whole()


def test_a_release_of_another_job_in_between_is_no_hindrance() -> None:
    up = forward(whole(), a_replay(ad_ctr=2))
    releases = [first(), released(up, 2), first("quarantine", number=3)]
    assert back(releases, up.after + whole("quarantine"), ["ad_ctr"]).undoes == 2


def refusal(expected: type[Refusal], releases: Iterable[Release], segments: Iterable[Segment], *jobs: str) -> str:
    """The message of the refusal that a roll-back ends in; it says that nothing was changed."""
    with pytest.raises(expected) as refused:
        back(releases, segments, jobs)
    assert "Nothing was changed" in str(refused.value)
    return str(refused.value)


def test_a_job_that_was_only_deployed_has_nothing_to_roll_back_to() -> None:
    assert "release 1 was its first" in refusal(NothingToRollBackTo, [first()], whole(), "ad_ctr")
    assert "no release" in refusal(NothingToRollBackTo, [], [], "ad_ctr")


def test_a_release_goes_back_as_a_whole() -> None:
    up = forward(BOTH, a_replay())
    releases = [first(), first("client_spend", 4, 2), released(up, 3)]
    said = refusal(NotReleasedTogether, releases, up.after, "ad_ctr")
    assert "./kappa rollback ad_ctr client_spend" in said
    alone = forward(up.after, replace(a_replay(ad_ctr=3), live={"ad_ctr": 2}))
    later = [*releases, released(alone, 4)]
    assert "release 4 of ad_ctr" in refusal(NotReleasedTogether, later, alone.after + up.after[2:], *JOBS)


def test_segments_that_the_release_did_not_write_are_not_undone() -> None:
    up = forward(whole(), a_replay(ad_ctr=2))
    assert "v9 all windows" in refusal(SegmentsOfNoRelease, [released(up, 2)], whole(version=9), "ad_ctr")


def a_version(number: int, state: State, job: str = "ad_ctr") -> Version:
    return Version(job, number, state, Desired.RUNNING, "code", "s", "r", {}, "ad_events", "topic-one", None, {})


def test_a_retired_version_serves_no_more_wherever_the_old_list_names_it() -> None:
    old = (Segment("ad_ctr", BEGINNING, NAMED, 1), Segment("ad_ctr", NAMED, OPEN_END, 2))
    up = forward(old, replace(a_replay(T + MINUTE_MS, ad_ctr=3), live={"ad_ctr": 2}))
    for number in (1, 2):
        with pytest.raises(PreviousRetired, match=f"ad_ctr v{number}, which would serve again, is RETIRED"):
            back([released(up, 7)], up.after, ["ad_ctr"], [a_version(number, State.RETIRED)])
    kept = [a_version(1, State.PREVIOUS), a_version(2, State.PREVIOUS), a_version(9, State.RETIRED)]
    assert back([released(up, 7)], up.after, ["ad_ctr"], kept).after == old


def test_a_candidate_replaces_only_what_it_was_validated_against() -> None:
    with pytest.raises(LiveHasChanged, match="validated against v1, and v3 serves now"):
        forward(whole(version=3), a_replay(ad_ctr=2))


def test_of_two_replays_at_once_the_second_is_refused() -> None:
    after = forward(BOTH, a_replay()).after
    with pytest.raises(LiveHasChanged):
        forward(after, a_replay(ad_ctr=3, client_spend=6))


@pytest.mark.parametrize("state", [State.STAGED, State.CATCHING_UP, State.RETIRED, State.FAILED])
def test_a_version_that_has_not_caught_up_is_not_promoted(state: State) -> None:
    with pytest.raises(CandidateNotCaughtUp, match=f"ad_ctr v2 is {state}"):
        forward(whole(), a_replay(ad_ctr=2), [a_version(1, State.LIVE), a_version(2, state)])


@pytest.mark.parametrize("state", [State.CAUGHT_UP, State.PREVIOUS])
def test_a_version_that_caught_up_or_served_before_may_be_promoted(state: State) -> None:
    assert forward(whole(), a_replay(ad_ctr=2), [a_version(2, state)]).targets == {"ad_ctr": 2}


@any_seed(5)
def test_a_plan_survives_json(seed: int) -> None:
    segments, replay, _ = random_case(seed)
    plan = forward(segments, replay)
    undone = back([released(plan, 7)], plan.after, plan.jobs)
    for one in (plan, undone):
        assert HandOverPlan.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_the_rows_show_what_serves_before_and_after() -> None:
    rows = dict(forward(BOTH, a_replay()).rows())
    assert rows["promotes"] == "ad_ctr v1 -> v2\nclient_spend v4 -> v5"
    assert rows["ad_ctr served by"] == f"v1 all windows\n-> v1 up to {NAMED}, v2 from {NAMED}"


def test_a_roll_back_says_how_fresh_the_old_version_is_and_until_when_it_is_kept() -> None:
    plan = forward(BOTH, a_replay())
    undone = back([released(plan, 7)], plan.after, JOBS)
    fresh = Standing({}, {}, NOON, NOON, 0, 0.0, 10, NOON)
    behind = replace(fresh, lag_events=5_000, lag_seconds=3_725.0)
    until = datetime(2027, 1, 16, 8, 0, tzinfo=UTC) + timedelta(hours=1)
    rows = dict(rollback_rows(undone, {"ad_ctr": fresh, "client_spend": behind}, {"ad_ctr": until}))
    assert rows["ad_ctr v1"] == "has read all there is; can be rolled back to until 2027-01-16T09:00:00Z"
    assert rows["client_spend v4"] == (
        "has 5,000 records to read first, the oldest waiting for 3,725 s at most; is kept until further notice"
    )
    assert dict(undone.rows())["rolls back release 7"] == "ad_ctr v2 -> v1\nclient_spend v5 -> v4"
