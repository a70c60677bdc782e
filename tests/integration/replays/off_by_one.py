"""A final row of a candidate that is made a micro more than the log gives, and how a refused replay ends."""

from __future__ import annotations

from tests.integration.replays.attempts import LONGEST_SECONDS, Attempt
from tests.integration.replays.serving import live
from tests.running_stack import Stack


def spoil(stack: Stack, attempt: Attempt) -> tuple[str, str, str]:
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


def is_over(stack: Stack, attempt: Attempt) -> None:
    """The replay has ended as not valid, and its candidate's driver too."""
    kept = attempt.replay
    assert kept.outcome is not None
    assert kept.outcome.startswith("not valid")
    ((job, version),) = kept.versions.items()
    query = "select state, desired from ops.versions where job = %s and version = %s"
    assert stack.query(query, job, version) == [("CAUGHT_UP", "stopped")]
