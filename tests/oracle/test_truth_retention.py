"""What the log no longer holds, after retention, as the oracle sees it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from oracle.served import ServedRow, ServingVersion, Told
from tests.oracle.served_jobs import (
    KEPT,
    LOG,
    MINUTE,
    NOON,
    ad_ctr,
    all_late,
    client_spend,
    quarantine,
    record,
    said,
    served,
    verdict,
    version,
)

# Retention: the log begins at offset 3; what it took away was appended up to READ.
EXACT = NOON + 7 * MINUTE
"""The first window that is exact then: READ, the future bound and a minute for clocks, up to the next edge."""


def _cut(log_after: int = 1) -> tuple[list[Any], ServingVersion, ServedRow]:
    """A log that ends with a record of the first exact window; the version that has read all of it, and that row."""
    log = [*LOG, *(record(7 + n, "impression", 70 + n, at=EXACT, append=EXACT) for n in range(log_after))]
    records = {**version().records, "read": 7 + log_after, "counted": 4 + log_after}
    micros = {**version().micros, "counted": 115 + 5 * log_after}
    read = version(end={0: 7 + log_after}, told={0: Told(EXACT, None)}, records=records, micros=micros)
    return log, read, ServedRow(log_after, 0, 5 * log_after, 0, 0, Decimal(0), False)


def test_after_retention_rows_from_the_smallest_exact_start_on_are_compared_and_it_says_from_when() -> None:
    log, read, row = _cut()
    job = ad_ctr(read)
    assert job.minutes is not None
    exact = ("c1", "a1", EXACT)
    shown = replace(job, minutes={**job.minutes, exact: row})
    found = verdict(shown, log=log, first=3, at=EXACT)
    assert said(found) == []
    assert found.jobs[0].rows["serving.ad_ctr_minute"] == 1
    assert found.jobs[0].uncompared == [
        "ad_ctr v1: retention has removed records that it read; windows from the beginning to "
        "2023-11-15T12:07:00+00:00 were not compared",
        "serving.ad_ctr_minute: 1 rows were not compared, of each but ctr and is_final",
    ]
    off = replace(job, minutes={**job.minutes, exact: replace(row, spend_micros=6)})
    assert said(verdict(off, log=log, first=3, at=EXACT)) == [("spend_micros", 5, 6)]
    assert [each[0] for each in said(verdict(job, log=log, first=3, at=EXACT))] == ["(row)"]


@pytest.mark.parametrize("column", ["is_final", "ctr"])
def test_of_rows_that_the_log_no_longer_proves_what_it_does_not_decide_is_compared(column: str) -> None:
    log, read, row = _cut()
    told = {"is_final": True} if column == "is_final" else {"ctr": Decimal(1)}
    job = ad_ctr(read, **told)
    assert job.minutes is not None
    shown = replace(job, minutes={**job.minutes, ("c1", "a1", EXACT): row})
    assert [each[0] for each in said(verdict(shown, log=log, first=3, at=EXACT))] == [column]


def test_after_retention_a_day_is_held_against_the_calendar_only_and_it_is_said() -> None:
    log, read, _ = _cut()
    assert said(verdict(client_spend(read, spend_micros=3), log=log, first=3, at=EXACT)) == []
    wrong = client_spend(read, currency="EUR", finality="provisional")
    found = verdict(wrong, log=log, first=3, at=EXACT)
    assert [each[0] for each in said(found)] == ["currency", "finality"]
    assert found.jobs[0].uncompared[1] == (
        "serving.client_spend_day: 1 rows were not compared, of each but time_zone, currency, budget_micros, finality"
    )


def test_after_retention_the_books_must_still_hold_what_is_left() -> None:
    log, read, _ = _cut()
    for change, column in (({"read": 9, "counted": 6}, "read"), ({"late": 0, "counted": 6}, "late")):
        job = client_spend(replace(read, records={**read.records, **change}))
        assert [each[0] for each in said(verdict(job, log=log, first=3, at=EXACT))] == [column]


def test_after_retention_the_quarantine_is_compared_as_far_as_the_log_goes() -> None:
    gone = quarantine({(0, 6): KEPT[0, 6], (0, 2): KEPT[0, 5]})
    found = verdict(gone, first=6)
    assert [each for each in said(found) if each[0] != "dead_letter"] == []
    assert found.jobs[0].uncompared[-1] == (
        "ops.quarantine: 1 rows were not compared, of records that the log no longer holds"
    )
    assert [each[0] for each in said(verdict(quarantine({}), first=6))] == ["(row)"]


def test_where_nothing_is_left_of_a_partition_what_was_read_last_says_from_when() -> None:
    found = verdict(ad_ctr(), first=7)
    assert said(found) == []
    assert "to 2023-11-15T12:07:00+00:00 were not compared" in found.jobs[0].uncompared[0]


def test_a_version_that_started_after_what_retention_removed_is_compared_whole() -> None:
    records = {**dict.fromkeys(version().records, 0), "read": 1, "late": 1}
    micros = {**dict.fromkeys(version().micros, 0), "late": 5}
    started = version(start={0: 6}, records=records, micros=micros)
    assert verdict(served("slot_ctr", started, keys=("slot_id",), minutes={}), first=6).jobs[0].uncompared == []


def test_what_is_kept_of_a_record_that_was_never_read_is_found_though_the_log_begins_after_it() -> None:
    job = quarantine({(0, 6): KEPT[0, 6], (0, 2): KEPT[0, 5]})
    begun = replace(
        job.live, start={0: 6}, records=all_late(1), micros={**dict.fromkeys(job.live.micros, 0), "late": 5}
    )
    found = verdict(replace(job, versions={1: begun}), first=6)
    assert [(each.key, each.column) for each in found.differences] == [("(0, 2)", "(row)")]
