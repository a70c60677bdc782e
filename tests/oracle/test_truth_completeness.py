"""What may still change, and who serves which windows, as the oracle sees it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from oracle.days import Client
from oracle.served import Segment, Served, ServedDay, ServedRow, ServingVersion, Told
from tests.oracle.served_jobs import (
    AT,
    DAY,
    DRAINED,
    HOUR,
    LATENESS,
    LOG,
    MINUTE,
    NOON,
    READ,
    RULES,
    ad_ctr,
    all_late,
    client_spend,
    ms,
    record,
    said,
    through,
    verdict,
    version,
)

FINAL_AT = NOON + 2 * MINUTE + LATENESS
"""The append_time up to which all must have been read for the minute of noon to be final."""
MIDNIGHT = ms("2023-11-16 00:00")


@pytest.mark.parametrize(
    ("read", "drained", "is_final"),
    [
        (FINAL_AT, None, True),
        (FINAL_AT - 1, None, False),
        (READ, FINAL_AT, True),
        (READ, FINAL_AT - 1, False),
        (FINAL_AT, READ, True),
    ],
)
def test_a_minute_is_final_by_what_was_read_or_by_when_nothing_was_unread(
    read: int, drained: int | None, is_final: bool
) -> None:
    """The last record decides: a click of another client that says up to when the log was read."""
    log = [*LOG[:6], replace_append(LOG[6], read)]
    job = ad_ctr(version(told={0: Told(read, drained)}), is_final=is_final)
    assert said(verdict(job, log=log, at=FINAL_AT + HOUR)) == []
    wrong = ad_ctr(version(told={0: Told(read, drained)}), is_final=not is_final)
    assert said(verdict(wrong, log=log, at=FINAL_AT + HOUR)) == [("is_final", is_final, not is_final)]


def replace_append(of: Any, at: int) -> Any:
    """The record, appended at another time."""
    return of._replace(append_time=at)


def test_what_was_read_is_taken_from_the_log_and_not_from_the_registry() -> None:
    claims = ad_ctr(version(told={0: Told(FINAL_AT, None)}), is_final=True)
    assert [each[0] for each in said(verdict(claims, at=FINAL_AT))] == ["complete_through", "is_final"]


def test_without_an_append_time_of_each_partition_nothing_is_complete() -> None:
    unknown = version(start={0: 0, 1: 0}, end={0: 7, 1: 0}, told={0: Told(READ, FINAL_AT), 1: Told(None, None)})
    job = replace(ad_ctr(unknown), complete_through=None)
    assert said(verdict(job, at=FINAL_AT)) == []
    assert [each[0] for each in said(verdict(ad_ctr(unknown, is_final=True), at=FINAL_AT))] == [
        "complete_through",
        "is_final",
    ]


def test_a_partition_cannot_have_been_read_to_its_end_when_it_holds_an_older_record_unread() -> None:
    """Only the registry knows when nothing was unread; the log can refute it, with a minute for clocks."""
    log = [*LOG, record(7, "impression", 70, append=NOON + 5 * MINUTE, at=NOON + 5 * MINUTE)]
    for drained, differs in ((NOON + 6 * MINUTE, False), (NOON + 6 * MINUTE + 1, True)):
        job = ad_ctr(version(told={0: Told(READ, drained)}))
        found = said(verdict(job, log=log, at=NOON + HOUR))
        assert found == (
            [("drained_at", "at most 2023-11-15T12:06:00+00:00", "2023-11-15T12:06:00.001+00:00")] if differs else []
        )


def test_a_partition_cannot_have_been_read_to_its_end_in_the_future() -> None:
    job = ad_ctr(version(told={0: Told(READ, AT + 1)}))
    assert [each[0] for each in said(verdict(job))] == ["drained_at"]


@pytest.mark.parametrize(("drained", "finality"), [(MIDNIGHT, "provisional"), (MIDNIGHT - 1, "open")])
def test_a_day_is_open_until_its_last_window_is_final(drained: int, finality: str) -> None:
    reached = drained + LATENESS + MINUTE
    job = client_spend(version(told={0: Told(READ, reached)}), finality=finality)
    assert said(verdict(job, at=reached)) == []


def test_a_day_of_another_calendar_ends_with_its_own_midnight() -> None:
    tokyo = (Client("c1", date(2020, 1, 1), "Asia/Tokyo", "EUR", 10),)
    reached = ms("2023-11-15 15:00") + LATENESS + MINUTE
    day = ServedDay("Asia/Tokyo", "EUR", 10, 3, 1, 115, "provisional")
    job = replace(client_spend(version(told={0: Told(READ, reached)})), days={DAY: day})
    assert said(verdict(job, at=reached, clients=tokyo)) == []


def two_versions(job: Served, at: int, first: ServingVersion, second: ServingVersion) -> Served:
    """The job with version 1 up to `at`, version 2 from then on."""
    segments = (Segment(None, at, 1), Segment(at, None, 2))
    held = {1: first, 2: replace(second, version=2)}
    return replace(job, segments=segments, versions=held, complete_through=through(held[2]))


def test_a_day_is_open_while_one_of_its_versions_is_not_through_with_its_share() -> None:
    at, reached = NOON + HOUR, MIDNIGHT + LATENESS + MINUTE
    stopped = version(told={0: Told(READ, at + LATENESS + MINUTE)})
    through_all = version(told={0: Told(READ, reached)})
    for first, finality in ((stopped, "provisional"), (version(), "open")):
        job = two_versions(client_spend(finality=finality), at, first, through_all)
        assert said(verdict(job, at=reached)) == []


def test_rows_of_a_closed_segment_are_those_of_its_version() -> None:
    """The older version counts by another rule: it has a lateness that accepts the oldest record."""
    generous = replace(RULES, allowed_lateness_ms=8_100_000)
    records = {**version().records, "counted": 5, "late": 0}
    micros = {**version().micros, "counted": 120, "late": 0}
    older = version(rules=generous, records=records, micros=micros)
    early = NOON - 8_000_000 // MINUTE * MINUTE - MINUTE
    at = NOON - HOUR

    def job(spend: int) -> Served:
        found = two_versions(ad_ctr(), at, older, version())
        assert found.minutes is not None
        found.minutes["c1", "a1", early] = ServedRow(1, 0, spend, 0, 0, Decimal(0), False)
        return found

    assert said(verdict(job(5))) == []
    assert said(verdict(job(6))) == [("spend_micros", 5, 6)]
    without = two_versions(ad_ctr(), at, older, version())
    assert [each[0] for each in said(verdict(without))] == ["(row)"]
    assert verdict(job(5)).jobs[0].serving == [1, 2]


def test_the_books_of_an_older_version_that_serves_are_compared() -> None:
    wrong = version(records={**version().records, "late": 2, "counted": 3})
    found = verdict(two_versions(ad_ctr(), NOON - HOUR, wrong, version())).differences
    assert [(each.key, each.column) for each in found] == [("version=1", "late"), ("version=1", "counted")]


def test_a_log_that_ends_before_what_was_read_is_another_log() -> None:
    found = verdict(ad_ctr(), log=LOG[:4])
    assert [each[0] for each in said(found)] == ["end"]
    assert "so it read another" in found.jobs[0].uncompared[0]


def test_an_older_version_of_another_log_is_not_compared_and_it_is_said() -> None:
    before = version(
        end={0: 50},
        told={0: Told(READ, DRAINED)},
        records=all_late(50),
    )
    found = verdict(two_versions(ad_ctr(), NOON - HOUR, before, version()))
    assert said(found) == []
    assert found.jobs[0].uncompared == [
        "ad_ctr v1: the log ends before what it has read, so it read another; windows from the beginning to "
        "2023-11-15T11:00:00+00:00 were not compared"
    ]


def test_what_a_version_counts_outside_of_its_segment_is_expected_nowhere() -> None:
    generous = replace(RULES, allowed_lateness_ms=8_100_000)
    records = {**version().records, "counted": 5, "late": 0}
    micros = {**version().micros, "counted": 120, "late": 0}
    newer = version(rules=generous, records=records, micros=micros)
    assert said(verdict(two_versions(ad_ctr(), NOON - HOUR, version(), newer))) == []


def test_a_time_that_a_producer_stamped_makes_nothing_complete() -> None:
    far = record(7, "impression", 70, append=NOON + 9 * HOUR)._replace(stamped=False)
    books = {**version().records, "read": 8, "dead_letter": 2}
    job = ad_ctr(version(told={0: Told(READ, DRAINED)}, records=books, end={0: 8}))
    assert said(verdict(job, log=[*LOG, far], at=NOON + 9 * HOUR)) == []
