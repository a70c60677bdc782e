"""What a validation refuses is not promoted, whatever it is; a row that is off by one is in test_moves.py."""

from __future__ import annotations

import random
from functools import partial

import pytest

from tests.integration.beside import kill, load
from tests.integration.replays.attempts import LONGEST_SECONDS, Attempt, reprocessing
from tests.integration.replays.edge import CLIENT, Edge
from tests.integration.replays.off_by_one import is_over
from tests.integration.replays.serving import HALF_MINUTE, is_final, live, segments
from tests.running_stack import Stack

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=4)]
FEWER_CLICKS = (*HALF_MINUTE, "--band", "clicks:down", "--band", "click_micros:down")


@pytest.mark.fault("F30", "a validation that was killed is a failed one: exit code 1, and nothing was promoted")
def test_a_validation_that_is_killed_keeps_the_candidate_from_serving(brisk: Stack) -> None:
    before = segments(brisk)
    with (
        load(brisk, random.randrange(10**6), rate=60),
        reprocessing(brisk, "client_spend", reason="validation killed", expect=1) as killed,
    ):
        words = ("validate.py", str(killed.until_staged().replay_id))
        brisk.until("the validation is killed", partial(_is_killed, killed, words), LONGEST_SECONDS)
    kept = killed.replay
    assert kept.validation is not None
    assert kept.validation["crashed"] is True
    assert "The validation crashed" in killed.said.err
    assert "exit code -9" in killed.said.err
    assert segments(brisk) == before
    is_over(brisk, killed)


def test_a_changed_rule_passes_within_its_bands_and_replaces_only_what_it_was_compared_with(
    brisk: Stack, edge: Edge
) -> None:
    """Of two replays at once the second one has been compared with the past."""
    brisk.until("T is final", lambda: is_final(brisk, edge.at))
    old = live(brisk)
    with (
        load(brisk, random.randrange(10**6), rate=60),
        reprocessing(brisk, "ad_ctr", reason="changed rule", options=FEWER_CLICKS, expect=1) as changed,
    ):
        changed.until_staged()
        with reprocessing(brisk, "ad_ctr", reason="serves first") as first:
            first.answer("Approve")
        changed.answer("Approve")
    kept, said = changed.replay, " ".join(changed.said.err.split())
    assert kept.finding("ad_ctr_minute", "parity")["success"]
    compared = (kept.validation or {})["comparisons"][0]["figures"]
    assert compared["candidate_clicks"] < compared["live_clicks"]
    assert compared["candidate_impressions"] == compared["live_impressions"]
    assert kept.answer == "approved"
    assert f"against v{old['ad_ctr']}, and v{first.replay.versions['ad_ctr']} serves now" in said


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
