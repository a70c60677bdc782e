"""Two jobs that bill: by the same rules and to the micro, or it is said (contract, sections 2 and 3)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oracle.fates import Rules
from oracle.reconcile import Verdict
from oracle.served import Segment, Served, Told
from tests.oracle.served_jobs import (
    DRAINED,
    HOUR,
    LATENESS,
    LOG,
    MINUTE,
    NOON,
    READ,
    RULES,
    ad_ctr,
    client_spend,
    quarantine,
    record,
    verdict,
    version,
)

LATER = (record(7, "impression", 70, at=NOON + 2 * MINUTE, cost=30, append=NOON + 2 * MINUTE),)
"""A record of the same day that only one of the jobs may have read."""


def _across(found: Verdict) -> list[tuple[str, object, object]]:
    return [(each.column, each.expected, each.served) for each in found.across]


@pytest.mark.red_without("oracle's agreement", r"assert \[\] == ")
def test_spend_that_differs_is_found() -> None:
    found = verdict(ad_ctr(spend_micros=116), client_spend())
    assert [(d.view, d.key, d.expected, d.served) for d in found.across] == [
        ("spend per client", "client_id=c1 day=2023-11-15", 116, 115)
    ]


@pytest.mark.red_without("oracle's agreement", r"assert \[\] == ")
@pytest.mark.parametrize("name", ["allowed_lateness_ms", "future_bound_ms", "click_interval_ms"])
def test_other_rules_are_a_difference_even_where_the_spend_is_equal(name: str) -> None:
    rules = replace(RULES, **{name: 60_000})
    found = verdict(ad_ctr(), client_spend(version(rules=rules)))
    assert _across(found) == [(name, getattr(RULES, name), 60_000)]
    assert found.across[0].job == "ad_ctr v1 and client_spend v1"
    assert found.across[0].key == "windows from the beginning on"


def test_other_rules_do_not_keep_the_spend_from_being_compared() -> None:
    rules = replace(RULES, allowed_lateness_ms=HOUR)
    found = verdict(ad_ctr(), client_spend(version(rules=rules), spend_micros=20))
    assert _across(found) == [("allowed_lateness_ms", LATENESS, HOUR), ("spend_micros", 115, 20)]


def test_the_quarantine_refuses_by_the_same_rules() -> None:
    assert _across(verdict(ad_ctr(), client_spend(), quarantine())) == []
    other = quarantine(rules=Rules(HOUR, 300_000, None, None))
    found = verdict(ad_ctr(), client_spend(), other)
    assert [each.job for each in found.across] == ["ad_ctr v1 and quarantine v1", "client_spend v1 and quarantine v1"]
    assert _across(found) == 2 * [("allowed_lateness_ms", LATENESS, HOUR)]


def test_spend_of_jobs_that_began_at_other_offsets_is_compared() -> None:
    """Neither says that it starts at some T: both must show all that the log holds."""
    found = verdict(ad_ctr(), client_spend(version(start={0: 1}), spend_micros=110))
    assert _across(found) == [("spend_micros", 115, 110)]


def test_a_job_that_was_first_deployed_later_owes_nothing_of_before() -> None:
    late = version(rules=replace(RULES, starts_at=NOON + MINUTE), told={0: Told(READ, DRAINED)})
    later = replace(client_spend(late), days={})
    found = verdict(ad_ctr(), later)
    assert _across(found) == []
    assert found.across_uncompared == [], "the day has no window that both count and one of them shows"


def test_of_a_day_in_which_one_job_started_the_windows_after_its_start_are_compared() -> None:
    """The job of days shows from T on; the minutes of the other are added up from T on."""
    starts = version(rules=replace(RULES, starts_at=NOON))
    early = ("c1", "a1", NOON - MINUTE)

    def first() -> Served:
        job = ad_ctr()
        assert job.minutes is not None
        job.minutes[early] = replace(job.minutes["c1", "a1", NOON], spend_micros=7)
        return job

    assert _across(verdict(first(), client_spend(starts))) == []
    assert _across(verdict(first(), client_spend(starts, spend_micros=122))) == [("spend_micros", 115, 122)]
    swapped = verdict(ad_ctr(starts), client_spend())
    assert _across(swapped) == []
    assert swapped.across_uncompared == [
        "spend of 1 clients' days: one counts nothing of some of their windows, since it started later"
    ]


def test_jobs_that_have_read_up_to_other_offsets_are_not_compared_where_windows_may_change_and_it_is_said() -> None:
    log = [*LOG, *LATER]
    ahead = client_spend(version(end={0: 8}, told={0: Told(NOON + 2 * MINUTE, None)}), spend_micros=145)
    found = verdict(ad_ctr(), ahead, log=log)
    assert _across(found) == []
    assert found.across_uncompared == [
        "spend of 1 clients' days: they have read up to different offsets, and some windows are not final yet"
    ]


def test_final_windows_are_compared_however_far_each_job_has_read() -> None:
    a_day_later = NOON + 36 * HOUR
    log = [*LOG, record(7, "impression", 70, at=a_day_later, append=a_day_later)]
    both = {"at": a_day_later + HOUR, "log": log}
    done = version(told={0: Told(READ, a_day_later - 1)})
    ahead = client_spend(version(end={0: 8}, told={0: Told(a_day_later, None)}), finality="provisional")
    assert ahead.days is not None
    assert _across(verdict(ad_ctr(done, is_final=True), ahead, **both)) == []  # type: ignore[arg-type]
    off = verdict(ad_ctr(done, is_final=True, spend_micros=114), ahead, **both)  # type: ignore[arg-type]
    assert _across(off) == [("spend_micros", 114, 115)]


def _replayed(job: Served, at: int, rules: Rules) -> Served:
    """The job with version 2 of these rules from `at` on."""
    second = version(2, replace(rules, starts_at=at))
    segments = (Segment(None, at, 1), Segment(at, None, 2))
    return replace(job, segments=segments, versions={**job.versions, 2: second})


def test_rules_are_compared_where_windows_are_served_by_both() -> None:
    """Each job was replayed at a time of its own: in between one serves by the old rule, the other by the new one."""
    new = replace(RULES, allowed_lateness_ms=3 * HOUR)
    same = verdict(_replayed(ad_ctr(), NOON, RULES), _replayed(client_spend(), NOON + HOUR, RULES))
    assert _across(same) == []
    together = verdict(_replayed(ad_ctr(), NOON, new), _replayed(client_spend(), NOON, new))
    assert [each for each in together.across if each.view != "spend per client"] == []
    apart = verdict(_replayed(ad_ctr(), NOON, new), _replayed(client_spend(), NOON + HOUR, new))
    (found,) = (each for each in apart.across if each.column == "allowed_lateness_ms")
    assert found.job == "ad_ctr v2 and client_spend v1"
    assert found.key == "windows from 2023-11-15T12:00:00+00:00 to 2023-11-15T13:00:00+00:00"


def test_windows_that_are_final_in_one_job_only_are_not_compared() -> None:
    a_day_later = NOON + 36 * HOUR
    done = version(told={0: Told(READ, a_day_later)})
    behind = client_spend(version(end={0: 6}), spend_micros=114)
    found = verdict(ad_ctr(done, is_final=True), behind, at=a_day_later)
    assert [each for each in _across(found) if each[0] == "spend_micros"] == []
    assert len(found.across_uncompared) == 1


def test_of_jobs_that_started_together_in_the_middle_of_a_day_its_rest_is_compared() -> None:
    starts = version(rules=replace(RULES, starts_at=NOON))
    found = verdict(ad_ctr(starts), client_spend(starts, spend_micros=114))
    assert _across(found) == [("spend_micros", 115, 114)]


def test_an_older_quarantine_that_nobody_sees_plays_no_part() -> None:
    job = quarantine()
    older = replace(job.live, version=0, rules=Rules(HOUR, 300_000, None, None))
    segments = (Segment(None, NOON, 0), Segment(NOON, None, 1))
    replayed = replace(job, segments=segments, versions={**job.versions, 0: older})
    assert _across(verdict(ad_ctr(), client_spend(), replayed)) == []
