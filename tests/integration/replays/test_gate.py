"""What a validation refuses is not promoted, whatever it is."""

from __future__ import annotations

import random
from functools import partial

import pytest

from tests.integration.beside import load
from tests.integration.injected import kill
from tests.integration.replays.attempts import LONGEST_SECONDS, Attempt, reprocessing
from tests.integration.replays.edge import CLIENT
from tests.integration.replays.serving import BOTH, HALF_MINUTE, live, segments
from tests.rigs.running_stack import Stack

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=4)]
FEWER_CLICKS = (*HALF_MINUTE, "--band", "clicks:down", "--band", "click_micros:down")


@pytest.mark.fault("F30", "the verb ends with exit code 1, the report lists the row, and nothing was promoted")
def test_a_row_that_is_off_by_one_micro_keeps_the_candidate_from_serving(grown: Stack) -> None:
    before = segments(grown)
    with (
        load(grown, random.randrange(10**6), rate=60),
        reprocessing(grown, "ad_ctr", reason="one micro off", expect=1) as off,
    ):
        row = _spoil(grown, off)
    kept, said = off.replay, off.said.err
    assert "did not pass the validation" in said
    assert "Nothing was promoted" in said
    found = kept.finding("ad_ctr_minute", "parity")
    assert (found["success"], found["severity"], found["count"]) == (False, "block", 1)
    (different,) = found["rows"]
    assert (different["client_id"], different["ad_id"]) == row[:2]
    assert different["candidate_impression_micros"] == different["live_impression_micros"] + 1
    assert kept.validation is not None
    assert row[1] in (grown.settings.home / kept.validation["folder"] / "report.html").read_text()
    assert segments(grown) == before
    _is_over(grown, off)


@pytest.mark.fault("F30", "a validation that was killed is a failed one: exit code 1, and nothing was promoted")
def test_a_validation_that_is_killed_keeps_the_candidate_from_serving(grown: Stack) -> None:
    before = segments(grown)
    with (
        load(grown, random.randrange(10**6), rate=60),
        reprocessing(grown, "client_spend", reason="validation killed", expect=1) as killed,
    ):
        words = ("validate.py", str(killed.until_staged().replay_id))
        grown.until("the validation is killed", partial(_is_killed, killed, words), LONGEST_SECONDS)
    kept = killed.replay
    assert kept.validation is not None
    assert kept.validation["crashed"] is True
    assert "The validation crashed" in killed.said.err
    assert "exit code -9" in killed.said.err
    assert segments(grown) == before
    _is_over(grown, killed)


def test_a_changed_rule_passes_within_its_bands_and_replaces_only_what_it_was_compared_with(grown: Stack) -> None:
    """Of two replays at once the second one has been compared with the past."""
    old = live(grown)
    with (
        load(grown, random.randrange(10**6), rate=60),
        reprocessing(grown, *BOTH, reason="changed rule", options=FEWER_CLICKS, expect=1) as changed,
    ):
        changed.until_staged()
        with reprocessing(grown, "ad_ctr", reason="serves first") as first:
            first.answer("Approve")
        changed.answer("Approve")
    kept, said = changed.replay, " ".join(changed.said.err.split())
    assert kept.finding("ad_ctr_minute", "parity")["success"]
    (compared,) = (c["figures"] for c in (kept.validation or {})["comparisons"] if c["job"] == "ad_ctr")
    assert compared["candidate_clicks"] < compared["live_clicks"]
    assert compared["candidate_impressions"] == compared["live_impressions"]
    assert kept.answer == "approved"
    assert f"against v{old['ad_ctr']}, and v{first.replay.versions['ad_ctr']} serves now" in said
    for job, version in (("ad_ctr", old["ad_ctr"]), *kept.versions.items()):
        grown.kappa("retire", job, str(version), "--reason", "test")


@pytest.mark.parametrize("band", ["up", "down:1"])
def test_a_changed_rule_outside_its_bands_is_refused(grown: Stack, band: str) -> None:
    """The clicks fall, and by more than a thousandth; edge's are half of what they were."""
    before, options = segments(grown), (*HALF_MINUTE, "--band", f"clicks:{band}", "--band", "click_micros:any")
    with (
        load(grown, random.randrange(10**6), rate=60),
        reprocessing(grown, *BOTH, reason=f"clicks {band}", options=options, expect=1) as attempt,
    ):
        attempt.until_staged()
    found = attempt.replay.finding("ad_ctr_minute", "parity")
    assert not found["success"]
    assert any((row["client_id"], row["ad_id"]) == (CLIENT, "clicked") for row in found["rows"])
    assert "did not pass the validation" in attempt.said.err
    assert segments(grown) == before


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


def _is_over(stack: Stack, attempt: Attempt) -> None:
    """The replay has ended as not valid, and its candidate's driver too."""
    kept = attempt.replay
    assert kept.outcome is not None
    assert kept.outcome.startswith("not valid")
    ((job, version),) = kept.versions.items()
    query = "select state, desired from ops.versions where job = %s and version = %s"
    assert stack.query(query, job, version) == [("CAUGHT_UP", "stopped")]
