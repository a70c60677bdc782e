"""Other versions come to serve, under load and before a reader who looks all the time, and nobody can tell."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests.integration.beside import load
from tests.integration.replays.attempts import Attempt, reprocessing
from tests.integration.replays.edge import BEFORE_T, CLIENT, FROM_T, Edge
from tests.integration.replays.kills import STEPS, approve_and_kill
from tests.integration.replays.reader import Reader, Seen
from tests.integration.replays.serving import BOTH, is_final, live, read, releases, segments
from tests.running_stack import Stack

pytestmark = pytest.mark.integration

MORE_RECORDS = 1_000


def test_the_same_code_is_replayed_from_t_promoted_rolled_back_and_promoted_and_no_count_falls(
    brisk: Stack, edge: Edge
) -> None:
    """F27 and F28, short forms: a step of the run is killed; events arrive between the moves."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    step, before, count = random.Random(seed).choice(STEPS[3:]), segments(brisk), releases(brisk)
    brisk.until("T is final", lambda: is_final(brisk, edge.at))
    assert edge.served(brisk) == (BEFORE_T, FROM_T)
    old = live(brisk)
    with Reader(brisk.settings) as seen, load(brisk, seed, rate=60):
        with reprocessing(brisk, *BOTH, reason="from T", options=("--from", edge.text)) as attempt:
            attempt.until_staged()
            edge.send_stale()
            approve_and_kill(attempt, step)
        promoted = segments(brisk)
        _more(brisk)
        brisk.kappa("rollback", *BOTH, "--reason", "test")
        assert segments(brisk) == before
        _more(brisk)
        brisk.kappa("promote", *BOTH, "--reason", "test")
        assert segments(brisk) == promoted
        _more(brisk)
    print(f"looks {seen.looks}, longest gap {seen.longest_gap:.2f} s")
    brisk.reconcile()
    _compared(attempt)
    _moved(brisk, edge, attempt, seen, old, count)
    _explained(brisk, edge, attempt, old)


def _more(stack: Stack) -> None:
    """Wait until the live version has read more records."""
    before = read(stack)
    stack.until("more records are read", partial(_has_read, stack, before + MORE_RECORDS))


def _has_read(stack: Stack, records: int) -> bool:
    return read(stack) >= records


def _compared(attempt: Attempt) -> None:
    kept = attempt.replay
    assert (kept.answer, kept.answered_by) == ("approved", "operator")
    for table in ("ad_ctr_minute", "client_spend_minute"):
        assert kept.finding(table, "parity")["success"]
        assert kept.finding(table, "row_count")["success"]
    assert kept.validation is not None
    assert all(one["compared"] > 0 for one in kept.validation["comparisons"])


def _moved(stack: Stack, edge: Edge, attempt: Attempt, seen: Seen, old: dict[str, int], count: int) -> None:
    """Windows from T on moved, together; each time the new side had read what the old one had; no reader noticed."""
    versions = attempt.replay.versions
    pairs = [{job: of[job] for job in BOTH} for of in (old, versions, old, versions)]
    assert seen.versions == pairs
    assert seen.wrong == []
    for job in BOTH:
        (_, _, end, below), (_, start, _, above) = [s for s in segments(stack) if s[0] == job][-2:]
        assert (below, above, end) == (old[job], versions[job], start)
        assert edge.at.strftime("%Y-%m-%d %H:%M") in start
    assert edge.served(stack) == (BEFORE_T, FROM_T)
    made = stack.query("select offsets_before, offsets_after, evidence from ops.releases order by release_id")[count:]
    assert len(made) == 3
    for was, then, evidence in made:
        print("hand-over", evidence["hand_over_seconds"], "s")
        assert all(then[job][p] >= offset for job in BOTH for p, offset in was[job].items())


def _explained(stack: Stack, edge: Edge, attempt: Attempt, old: dict[str, int]) -> None:
    """A minute on either side of T is explained by the version that serves it, its release and its validation."""
    before, after = (_explain(stack, "tardy", edge, -1), _explain(stack, "first", edge, 0))
    assert before["made_by"][0]["version"] == old["ad_ctr"]
    assert after["made_by"][0]["version"] == attempt.replay.versions["ad_ctr"]
    ((newest,),) = stack.query("select max(release_id) from ops.releases")
    assert after["made_by"][0]["release"]["release_id"] == newest
    assert before["matches"] is after["matches"] is True


def _explain(stack: Stack, ad: str, edge: Edge, minutes: int) -> dict[str, Any]:
    minute = (edge.at + timedelta(minutes=minutes)).isoformat()
    told = stack.kappa("explain", "ad_ctr", "--client", CLIENT, "--ad", ad, "--minute", minute, "--json")
    found: dict[str, Any] = json.loads(told.out)
    return found
