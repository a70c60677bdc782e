"""What a validation refuses is not promoted, whatever it is."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial

import pytest

from tests.integration.beside import kill, load
from tests.integration.replays.attempts import LONGEST_SECONDS, Attempt, reprocessing
from tests.integration.replays.edge import CLIENT, Edge
from tests.integration.replays.serving import BOTH, HALF_MINUTE, live, segments
from tests.running_stack import Stack

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Refused:
    """Two replays that were refused, what was served before, and the row that was changed in between."""

    off: Attempt
    killed: Attempt
    served: list[tuple[str, str, str, int]]
    row: tuple[str, str, str]


@pytest.fixture(scope="module")
def refused(brisk: Stack) -> Refused:
    """Of a candidate one row is a micro off; another's validation is killed. Both replay the same code.

    The one that is asked for first catches up first, so the other's validation cannot have passed before it is awaited.
    """
    before = segments(brisk)
    with (
        load(brisk, random.randrange(10**6), rate=60),
        reprocessing(brisk, "ad_ctr", reason="one micro off", expect=1) as off,
    ):
        off.until_staged()
        with reprocessing(brisk, "client_spend", reason="validation killed", expect=1) as killed:
            row = _spoil(brisk, off)
            words = ("validate.py", str(killed.until_staged().replay_id))
            met = partial(_is_killed, killed, words)
            brisk.until("the validation is killed", met, LONGEST_SECONDS)
    return Refused(off, killed, before, row)


@pytest.mark.fault("F30", "the verb ends with exit code 1, the report lists the row, and nothing was promoted")
def test_a_row_that_is_off_by_one_micro_keeps_the_candidate_from_serving(brisk: Stack, refused: Refused) -> None:
    kept, said = refused.off.replay, refused.off.said.err
    assert "did not pass the validation" in said
    assert "Nothing was promoted" in said
    found = kept.finding("ad_ctr_minute", "parity")
    assert (found["success"], found["severity"], found["count"]) == (False, "block", 1)
    (row,) = found["rows"]
    assert (row["client_id"], row["ad_id"]) == refused.row[:2]
    assert row["candidate_impression_micros"] == row["live_impression_micros"] + 1
    assert kept.validation is not None
    assert refused.row[1] in (brisk.settings.home / kept.validation["folder"] / "report.html").read_text()
    _is_over(brisk, refused, refused.off)


@pytest.mark.fault("F30", "a validation that was killed is a failed one: exit code 1, and nothing was promoted")
def test_a_validation_that_is_killed_keeps_the_candidate_from_serving(brisk: Stack, refused: Refused) -> None:
    kept = refused.killed.replay
    assert kept.validation is not None
    assert kept.validation["crashed"] is True
    assert "The validation crashed" in refused.killed.said.err
    assert "exit code -9" in refused.killed.said.err
    _is_over(brisk, refused, refused.killed)


@pytest.mark.long(minutes=4)
@pytest.mark.parametrize("band", ["up", "down:1"])
def test_a_changed_rule_outside_its_bands_is_refused(brisk: Stack, edge: Edge, band: str) -> None:
    """The clicks fall, and by more than a thousandth; edge's are half of what they were."""
    before, options = segments(brisk), (*HALF_MINUTE, "--band", f"clicks:{band}", "--band", "click_micros:any")
    with (
        load(brisk, random.randrange(10**6), rate=60),
        reprocessing(brisk, "ad_ctr", reason=f"clicks {band}", options=options, expect=1) as attempt,
    ):
        attempt.until_staged()
    found = attempt.replay.finding("ad_ctr_minute", "parity")
    assert not found["success"]
    assert any((row["client_id"], row["ad_id"]) == (CLIENT, "clicked") for row in found["rows"])
    assert "did not pass the validation" in attempt.said.err
    assert segments(brisk) == before


def _is_killed(attempt: Attempt, words: tuple[str, ...]) -> bool:
    return kill(attempt.stack, *words) > 0 or bool(attempt.results)


def _spoil(stack: Stack, attempt: Attempt) -> tuple[str, str, str]:
    """Make one final row of the candidate a micro more, as soon as the candidate has it: it is not written again."""
    candidate, now = attempt.until_staged().versions["ad_ctr"], live(stack)["ad_ctr"]
    change = f"""
        update data.ad_ctr_minute_v{candidate} set impression_micros = impression_micros + 1
        where (client_id, ad_id, window_start) = (
            select client_id, ad_id, window_start from data.ad_ctr_minute_v{candidate}
            where window_start + interval '1 minute' <= all (
                select coalesce(complete_through, '-infinity') from registry.completeness
                where job = 'ad_ctr' and version in (%s, %s))
            and impressions > 0 order by window_start, client_id, ad_id limit 1)
        returning client_id, ad_id, window_start::text"""
    changed: list[tuple[str, str, str]] = []

    def spoilt() -> bool:
        changed.extend((a, b, c) for a, b, c in stack.query(change, candidate, now, role="postgres"))
        return bool(changed)

    stack.until("a final row of the candidate is changed", spoilt, LONGEST_SECONDS)
    return changed[0]


def _is_over(stack: Stack, refused: Refused, attempt: Attempt) -> None:
    """The replay has ended, its candidate's driver too, and what serves is what served."""
    kept = attempt.replay
    assert kept.outcome is not None
    assert kept.outcome.startswith("not valid")
    assert [served for served in segments(stack) if served[0] in BOTH] == [s for s in refused.served if s[0] in BOTH]
    ((job, version),) = kept.versions.items()
    query = "select state, desired from ops.versions where job = %s and version = %s"
    assert stack.query(query, job, version) == [("CAUGHT_UP", "stopped")]
