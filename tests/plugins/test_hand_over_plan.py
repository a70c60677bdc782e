"""The plan of a hand-over, as a value: segments without gap or overlap, forward and back, and what is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from kappa.hooks.registry import BEGINNING, OPEN_END, Segment, Version
from kappa.plans import hand_over_refusals as refusals
from kappa.plans.hand_over import HandOverPlan, back, forward, rollback_rows, standing_releases
from kappa.plans.segments import BrokenSegments, check_whole, edge, instant_ms, of_job, same, serving
from kappa.replays import Approval, Parity, Release, Replay, Standing
from kappa.states import Desired, State

from jobs.catalog import MINUTE_MS
from jobs.refusals import Refusal
from tests.plugins.fakes import NOON

JOBS = ("ad_ctr", "client_spend")
T = 1_800_000_000_000 // MINUTE_MS * MINUTE_MS
NAMED = "2027-01-15 08:00:00+00"
SEEDS = range(200)


def whole(job: str = "ad_ctr", version: int = 1) -> tuple[Segment, ...]:
    """One version serves all windows."""
    return (Segment(job, BEGINNING, OPEN_END, version),)


BOTH = whole() + whole("client_spend", 4)


def a_replay(starts_ms: int | None = T, **versions: int) -> Replay:
    """A replay of both jobs (or of those given) from T: v2 against v1, v5 against v4."""
    asked = versions or {"ad_ctr": 2, "client_spend": 5}
    live = {job: {"ad_ctr": 1, "client_spend": 4}[job] for job in asked}
    words = (Parity.EXACT, (), Approval.ASK, True, "anna", "because", {})
    return Replay(UUID(int=1), "run-1", asked, live, starts_ms, *words)


def released(plan: HandOverPlan, number: int) -> Release:
    """The release that a plan becomes."""
    return Release(number, plan.jobs, plan.before, plan.after, {}, {}, NOON, "anna", "ben", {})


def first(job: str = "ad_ctr", version: int = 1, number: int = 1) -> Release:
    """The release of a first deployment."""
    return Release(number, (job,), (), whole(job, version), {}, {}, NOON, "anna", None, {})


def random_list(job: str, chance: random.Random, versions: int = 5) -> tuple[Segment, ...]:
    """A list without gap or overlap; neighbours are of different versions, as every list that a verb wrote."""
    cuts = sorted(chance.sample(range(-50, 50), chance.randrange(5)))
    edges = [BEGINNING, *(edge(T + cut * MINUTE_MS) for cut in cuts), OPEN_END]
    numbers = [chance.randrange(1, versions + 1)]
    for _ in cuts:
        numbers.append(chance.choice([n for n in range(1, versions + 1) if n != numbers[-1]]))
    return tuple(Segment(job, a, b, n) for (a, b), n in zip(pairwise(edges), numbers, strict=True))


def random_case(seed: int) -> tuple[tuple[Segment, ...], Replay, random.Random]:
    """Random lists of one or both jobs, and a replay against what serves their live end."""
    chance = random.Random(seed)
    jobs = JOBS[: chance.randrange(1, 3)]
    segments = sum((random_list(job, chance) for job in jobs), ())
    live = {job: of_job(job, segments)[-1].version for job in jobs}
    starts = chance.choice([None, T + chance.randrange(-60, 60) * MINUTE_MS])
    candidates = {job: chance.choice([6, *({1, 2, 3, 4, 5} - {live[job]})]) for job in jobs}
    return segments, replace(a_replay(starts), versions=candidates, live=live), chance


def check_all(segments: Iterable[Segment], jobs: Iterable[str]) -> None:
    """Each job's list serves every window once: by the definition, minute by minute, not by the code under test."""
    held = tuple(segments)
    instants = [float("-1e18"), *(T + minute * MINUTE_MS for minute in range(-70, 70)), 1e18]
    for job in jobs:
        for at in instants:
            inside = [s for s in held if s.job == job and instant_ms(s.from_window) <= at < instant_ms(s.to_window)]
            assert len(inside) == 1, (job, at, held)


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_gives_every_window_from_t_on_to_the_candidate_and_leaves_the_others(seed: int) -> None:
    segments, replay, _ = random_case(seed)
    plan = forward(segments, replay)
    check_all(plan.after, plan.jobs)
    at = -1e17 if replay.starts_ms is None else replay.starts_ms
    for job in plan.jobs:
        assert serving(of_job(job, plan.after), at) == serving(of_job(job, plan.after), 1e17) == replay.versions[job]
        for earlier in () if replay.starts_ms is None else (at - 1, at - 20 * MINUTE_MS, -1e17):
            assert serving(of_job(job, plan.after), earlier) == serving(of_job(job, segments), earlier)
        check_whole(job, of_job(job, plan.after))


@pytest.mark.parametrize("seed", SEEDS)
def test_back_of_forward_is_what_was_before_to_the_letter(seed: int) -> None:
    segments, replay, _ = random_case(seed)
    plan = forward(segments, replay)
    undone = back([released(plan, 7)], plan.after, plan.jobs)
    assert undone.after == plan.before == segments
    assert (undone.targets, undone.olds) == (plan.olds, plan.targets)
    check_all(undone.after, undone.jobs)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_walk_of_promotions_and_roll_backs_keeps_the_lists_whole_and_unwinds(seed: int) -> None:
    segments, replay, chance = random_case(seed)
    jobs, lists = tuple(replay.versions), [segments]
    releases: list[Release] = []
    for step in range(12):
        if len(lists) > 1 and chance.random() < 0.4:
            plan = back(releases, lists.pop(), jobs)
            assert plan.after == lists[-1]
        else:
            live = {job: of_job(job, lists[-1])[-1].version for job in jobs}
            starts = T + chance.randrange(-60, 60) * MINUTE_MS
            plan = forward(
                lists[-1], replace(replay, versions=dict.fromkeys(jobs, 10 + step), live=live, starts_ms=starts)
            )
            lists.append(plan.after)
        releases.append(released(plan, step))
        check_all(plan.after, jobs)


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


def test_the_order_in_which_segments_come_does_not_matter() -> None:
    plan = forward(BOTH, a_replay())
    assert forward(tuple(reversed(BOTH)), a_replay()) == plan
    assert back([released(plan, 7)], tuple(reversed(plan.after)), JOBS).after == BOTH


def test_edges_are_compared_as_instants_not_as_text() -> None:
    plan = forward(BOTH, a_replay())
    zoned = "2027-01-15T09:00:00+01:00"
    other = [
        replace(s, from_window=s.from_window.replace(NAMED, zoned), to_window=s.to_window.replace(NAMED, zoned))
        for s in plan.after
    ]
    assert same(other, plan.after)
    assert back([released(plan, 7)], other, JOBS).after == BOTH


def test_a_second_roll_back_goes_one_release_further_and_never_forward_again() -> None:
    second = forward(whole(), a_replay(None, ad_ctr=2))
    third = forward(second.after, replace(a_replay(ad_ctr=3), live={"ad_ctr": 2}))
    releases = [first(), released(second, 2), released(third, 3)]
    once = back(releases, third.after, ["ad_ctr"])
    twice = back([*releases, released(once, 4)], once.after, ["ad_ctr"])
    assert (once.undoes, once.targets, twice.undoes, twice.targets) == (3, {"ad_ctr": 2}, 2, {"ad_ctr": 1})
    with pytest.raises(refusals.NothingToRollBackTo, match="release 1 was its first"):
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
    assert "release 1 was its first" in refusal(refusals.NothingToRollBackTo, [first()], whole(), "ad_ctr")
    assert "no release" in refusal(refusals.NothingToRollBackTo, [], [], "ad_ctr")


def test_a_release_goes_back_as_a_whole() -> None:
    up = forward(BOTH, a_replay())
    releases = [first(), first("client_spend", 4, 2), released(up, 3)]
    said = refusal(refusals.NotReleasedTogether, releases, up.after, "ad_ctr")
    assert "./kappa rollback ad_ctr client_spend" in said
    alone = forward(up.after, replace(a_replay(ad_ctr=3), live={"ad_ctr": 2}))
    later = [*releases, released(alone, 4)]
    assert "release 4 of ad_ctr" in refusal(refusals.NotReleasedTogether, later, alone.after + up.after[2:], *JOBS)


def test_segments_that_the_release_did_not_write_are_not_undone() -> None:
    up = forward(whole(), a_replay(ad_ctr=2))
    assert "v9 all windows" in refusal(refusals.SegmentsOfNoRelease, [released(up, 2)], whole(version=9), "ad_ctr")


def a_version(number: int, state: State, job: str = "ad_ctr") -> Version:
    return Version(job, number, state, Desired.RUNNING, "code", "s", "r", {}, "ad_events", "topic-one", None, {})


def test_a_retired_version_serves_no_more_wherever_the_old_list_names_it() -> None:
    old = (Segment("ad_ctr", BEGINNING, NAMED, 1), Segment("ad_ctr", NAMED, OPEN_END, 2))
    up = forward(old, replace(a_replay(T + MINUTE_MS, ad_ctr=3), live={"ad_ctr": 2}))
    for number in (1, 2):
        with pytest.raises(refusals.PreviousRetired, match=f"ad_ctr v{number}, which would serve again, is RETIRED"):
            back([released(up, 7)], up.after, ["ad_ctr"], [a_version(number, State.RETIRED)])
    kept = [a_version(1, State.PREVIOUS), a_version(2, State.PREVIOUS), a_version(9, State.RETIRED)]
    assert back([released(up, 7)], up.after, ["ad_ctr"], kept).after == old


def test_a_candidate_replaces_only_what_it_was_validated_against() -> None:
    with pytest.raises(refusals.LiveHasChanged, match="validated against v1, and v3 serves now"):
        forward(whole(version=3), a_replay(ad_ctr=2))


def test_of_two_replays_at_once_the_second_is_refused() -> None:
    after = forward(BOTH, a_replay()).after
    with pytest.raises(refusals.LiveHasChanged):
        forward(after, a_replay(ad_ctr=3, client_spend=6))


@pytest.mark.parametrize("state", [State.STAGED, State.CATCHING_UP, State.RETIRED, State.FAILED])
def test_a_version_that_has_not_caught_up_is_not_promoted(state: State) -> None:
    with pytest.raises(refusals.CandidateNotCaughtUp, match=f"ad_ctr v2 is {state}"):
        forward(whole(), a_replay(ad_ctr=2), [a_version(1, State.LIVE), a_version(2, state)])


@pytest.mark.parametrize("state", [State.CAUGHT_UP, State.PREVIOUS])
def test_a_version_that_caught_up_or_served_before_may_be_promoted(state: State) -> None:
    assert forward(whole(), a_replay(ad_ctr=2), [a_version(2, state)]).targets == {"ad_ctr": 2}


@pytest.mark.parametrize(
    "broken",
    [
        (),
        (Segment("ad_ctr", BEGINNING, NAMED, 1),),
        (Segment("ad_ctr", NAMED, OPEN_END, 1),),
        (Segment("ad_ctr", BEGINNING, NAMED, 2), Segment("ad_ctr", edge(T + MINUTE_MS), OPEN_END, 1)),
        (Segment("ad_ctr", BEGINNING, NAMED, 2), Segment("ad_ctr", edge(T - MINUTE_MS), OPEN_END, 1)),
    ],
    ids=["empty", "no open end", "no beginning", "a gap", "an overlap"],
)
def test_a_list_with_a_gap_or_an_overlap_is_not_planned_on(broken: tuple[Segment, ...]) -> None:
    with pytest.raises(BrokenSegments, match="Nothing was changed"):
        forward(broken, a_replay(ad_ctr=2))


@pytest.mark.parametrize("seed", range(5))
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
        "has 5,000 records to read first, the oldest waiting for 3,725 s; is kept until further notice"
    )
    assert dict(undone.rows())["rolls back release 7"] == "ad_ctr v2 -> v1\nclient_spend v5 -> v4"
