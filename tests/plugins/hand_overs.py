"""Segments, replays and releases as values, some of them random, for the tests of hand-overs."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from uuid import UUID

from kappa.core.job_catalog import MINUTE_MS
from kappa.core.replays import Approval, Release, Replay
from kappa.core.validation import Parity
from kappa.core.versions import BEGINNING, OPEN_END, Segment
from kappa.verbs.promote.plan import HandOverPlan
from kappa.verbs.promote.segments import edge, instant_ms, of_job
from tests.plugins.fakes import NOON

JOBS = ("ad_ctr", "client_spend")
T = 1_800_000_000_000 // MINUTE_MS * MINUTE_MS
NAMED = "2027-01-15 08:00:00+00"


def whole(job: str = "ad_ctr", version: int = 1) -> tuple[Segment, ...]:
    """One version serves all windows."""
    return (Segment(job, BEGINNING, OPEN_END, version),)


BOTH = whole() + whole("client_spend", 4)


def a_replay(starts_ms: int | None = T, **versions: int) -> Replay:
    """A replay of both jobs (or of those given) from T: v2 against v1, v5 against v4."""
    asked = versions or {"ad_ctr": 2, "client_spend": 5}
    live = {job: {"ad_ctr": 1, "client_spend": 4}[job] for job in asked}
    return Replay(UUID(int=1), "run-1", asked, live, starts_ms, Parity.EXACT, (), Approval.ASK, True, "anna", "because")


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
