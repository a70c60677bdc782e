"""Lists of segments under promotions and roll-backs: no gap, no overlap, and back again to the letter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kappa.core.job_catalog import MINUTE_MS
from kappa.core.replays import Release
from kappa.core.versions import BEGINNING, OPEN_END, Segment
from kappa.verbs.promote.plan import back, forward
from kappa.verbs.promote.segments import BrokenSegments, check_whole, edge, of_job, same, serving
from tests.plugins.hand_overs import (
    BOTH,
    JOBS,
    NAMED,
    T,
    a_replay,
    check_all,
    random_case,
    released,
)
from tests.seeds import any_seed


@any_seed(200)
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


@any_seed(200)
def test_back_of_forward_is_what_was_before_to_the_letter(seed: int) -> None:
    segments, replay, _ = random_case(seed)
    plan = forward(segments, replay)
    undone = back([released(plan, 7)], plan.after, plan.jobs)
    assert undone.after == plan.before == segments
    assert (undone.targets, undone.olds) == (plan.olds, plan.targets)
    check_all(undone.after, undone.jobs)


@any_seed(200)
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
