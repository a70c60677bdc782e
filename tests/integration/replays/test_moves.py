"""Other versions come to serve, under load and before a reader who looks all the time, and nobody can tell."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import psutil
import pytest

from jobs.driver import cpu_priority
from jobs.driver.cpu_priority import Rank
from kappa.core.audit import Author
from kappa.platform import connect
from kappa.registry.releases import hand_over
from kappa.verbs.promote.steps import plan_rollback
from tests.integration.beside import load
from tests.integration.replays.attempts import Attempt, reprocessing
from tests.integration.replays.edge import BEFORE_T, CLIENT, FROM_T, Edge
from tests.integration.replays.serving import BOTH, Segment, live, read, releases, segments
from tests.rigs.running_stack import Stack
from tests.rigs.view_reader import Seen, reading

pytestmark = pytest.mark.integration

MORE_RECORDS = 300
IN_ITS_PROCESS = ("--set", "executors=0")
"""Each candidate does its work itself, also where the live version has an executor."""


@dataclass(frozen=True)
class Moved:
    """What happened: a replay that was promoted, rolled back and promoted again."""

    same: Attempt
    seen: Seen
    old: dict[str, int]
    releases: int
    served: Sequence[list[Segment]]
    """The segments: before, after the promotion, the roll-back, and the second promotion."""
    made: Sequence[tuple[Any, ...]]
    """The releases, oldest first: number, offsets before and after, evidence."""
    explained: Sequence[dict[str, Any]]
    """A minute on either side of T."""
    nice: dict[str, set[int]]
    """Of all threads of a candidate's JVM and its children: while it starts to catch up, and once it serves."""


@pytest.fixture(scope="module")
def moved(grown: Stack, edge: Edge) -> Moved:
    """The same code of both jobs from T on, while events arrive."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    old, count, served = live(grown), releases(grown), [segments(grown)]
    with reading(grown.settings) as seen, load(grown, seed, rate=60):
        with reprocessing(grown, *BOTH, reason="same code", options=("--from", edge.text, *IN_ITS_PROCESS)) as same:
            candidate = same.until_staged().versions["ad_ctr"]
            edge.send_stale()
            nice = {"catching up": _once_lowered(grown, candidate)}
            same.answer("Approve")
        served.append(segments(grown))
        for verb in ("rollback", "promote"):
            _more(grown)
            grown.kappa(verb, *BOTH, "--reason", "test")
            served.append(segments(grown))
        _more(grown)
        nice["serving"] = _nice(grown, candidate)
    print(f"looks {seen.looks}, longest gap {seen.longest_gap:.2f} s")
    made = grown.query("select release_id, offsets_before, offsets_after, evidence from ops.releases order by 1")
    explained = (_explain(grown, "tardy", edge, -1), _explain(grown, "first", edge, 0))
    return Moved(same, seen, old, count, served, made, explained, nice)


@pytest.mark.fault("F27", "the replay passes its validation with 0 differing rows and serves")
def test_the_same_code_gives_the_same_rows_from_t_on_and_serves_them(grown: Stack, edge: Edge, moved: Moved) -> None:
    """Early, late and resent records around T, and one that comes after the staging, make no odds."""
    kept = moved.same.replay
    assert (kept.answer, kept.answered_by) == ("approved", "approver")
    for table in ("ad_ctr_minute", "client_spend_minute"):
        assert kept.finding(table, "parity")["success"]
        assert kept.finding(table, "row_count")["success"]
    assert kept.validation is not None
    assert all(one["compared"] > 0 for one in kept.validation["comparisons"])
    for job in BOTH:
        (_, _, end, below), (_, start, _, above) = [s for s in moved.served[-1] if s[0] == job][-2:]
        assert (below, above, end) == (moved.old[job], kept.versions[job], start)
        assert edge.at.strftime("%Y-%m-%d %H:%M") in start
    assert edge.served(grown) == (BEFORE_T, FROM_T)


@pytest.mark.fault("F28", "readers see no count fall but at a release, and differences are 0")
def test_no_reader_notices_that_other_versions_serve_forward_back_and_forward(grown: Stack, moved: Moved) -> None:
    """I6: both jobs move at once, no count falls, and nothing that arrived meanwhile is lost or twice."""
    before, promoted, rolled_back, again = moved.served
    assert rolled_back == before != promoted == again
    new = moved.same.replay.versions
    assert moved.seen.versions == [{job: of[job] for job in BOTH} for of in (moved.old, new, moved.old, new)]
    assert moved.seen.wrong == []
    assert len(moved.made) == moved.releases + 3
    for _, was, then, evidence in moved.made[moved.releases :]:
        print("hand-over", evidence["hand_over_seconds"], "s")
        assert all(then[job][partition] >= offset for job in BOTH for partition, offset in was[job].items())
    grown.reconcile()


@pytest.mark.skipif(
    not cpu_priority.may_return(), reason="this user may not take a rank back, so candidates keep theirs"
)
def test_a_candidate_makes_way_at_the_processor_until_it_has_caught_up(moved: Moved) -> None:
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    assert moved.nice["catching up"] in ({usual + Rank.LOWEST}, {usual + Rank.LOW})
    assert moved.nice["serving"] == {usual}


def test_a_minute_on_either_side_of_t_is_explained_by_who_serves_it(moved: Moved) -> None:
    before, after = moved.explained
    assert before["made_by"][0]["version"] == moved.old["ad_ctr"]
    assert after["made_by"][0]["version"] == moved.same.replay.versions["ad_ctr"]
    assert after["made_by"][0]["release"]["release_id"] == moved.made[-1][0]
    assert before["matches"] is after["matches"] is True


@pytest.mark.long(minutes=3)
def test_a_hand_over_that_did_not_wait_would_be_noticed(
    grown: Stack, moved: Moved, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of the check: the version that is to serve stands still, and its lag is taken for nothing."""
    monkeypatch.setattr(hand_over, "_await_targets", lambda *_: None)
    platform, by = connect(grown.settings), Author("test", "does-not-wait", "test")
    hand = plan_rollback(platform, BOTH).hand
    (driver,) = (d for d in grown.drivers("ad_ctr") if _runs(d, moved.old["ad_ctr"]))
    with reading(grown.settings) as seen, load(grown, random.randrange(10**6), rate=100):
        _more(grown)
        driver.suspend()
        try:
            _more(grown)
            looks = seen.looks
            grown.until("the reader sees what was read", lambda: seen.looks >= looks + 2)
            platform.releases.hand_over(hand, by)
            grown.until("the reader has seen it", lambda: len(seen.versions) > 1)
        finally:
            driver.resume()
    assert any(wrong.what == "fell" and wrong.moved for wrong in seen.wrong)


def _once_lowered(stack: Stack, version: int) -> set[int]:
    """What a candidate's threads have as it starts; where they may not change it, what they always have."""
    usual, seen = os.getpriority(os.PRIO_PROCESS, 0), [_nice(stack, version)]

    def is_lowered() -> bool:
        seen.append(_nice(stack, version))
        return usual not in (seen[-1] or {usual})

    if cpu_priority.may_return():
        stack.until("a candidate makes way", is_lowered)
    return seen[-1]


def _nice(stack: Stack, version: int) -> set[int]:
    """Of the threads of the JVM that runs ad_ctr's version, and of all its children; none if there is none."""
    drivers = [d for d in stack.drivers("ad_ctr") if _runs(d, version)]
    found = set()
    for top in (parent for driver in drivers if (parent := driver.parent()) is not None):
        for process in (top, *top.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                found |= {os.getpriority(os.PRIO_PROCESS, thread.id) for thread in process.threads()}
    return found


def _runs(driver: psutil.Process, version: int) -> bool:
    words = driver.cmdline()
    return words[words.index("--version") + 1] == str(version)


def _more(stack: Stack) -> None:
    """Wait until the live version has read more records."""
    stack.until("more records are read", partial(_has_read, stack, read(stack) + MORE_RECORDS))


def _has_read(stack: Stack, records: int) -> bool:
    return read(stack) >= records


def _explain(stack: Stack, ad: str, edge: Edge, minutes: int) -> dict[str, Any]:
    minute = (edge.at + timedelta(minutes=minutes)).isoformat()
    told = stack.kappa("explain", "ad_ctr", "--client", CLIENT, "--ad", ad, "--minute", minute, "--json")
    found: dict[str, Any] = json.loads(told.out)
    return found
