"""The suites of the served tables, on the real database: which one a table has, and what a candidate must show by
itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kappa.core.validation import BadRequest, read
from kappa.registry.postgres import PostgresRegistry
from tests.great_expectations.gate.desk import (
    CANDIDATE,
    LIVE,
    Desk,
    Row,
    ad_rows,
    altered,
    blocking,
    client_rows,
    found,
    minute,
)
from tests.great_expectations.gate.test_validation_request import ASKED

pytestmark = pytest.mark.rig
ROWS = ad_rows(range(5))
(AD_CTR,) = read(ASKED).subjects


def test_a_served_table_has_a_suite_of_its_own_and_a_new_one_of_windows_what_all_must_show() -> None:
    """It needs no database, but Great Expectations, which only the pytest of these tests imports: for seconds."""
    from gate.running import suite_of
    from gate.suites import ad_ctr_minute, windowed

    assert suite_of(AD_CTR) is ad_ctr_minute
    assert suite_of(replace(AD_CTR, table="slot_ctr_minute")) is windowed


def test_records_without_windows_and_without_a_suite_are_refused() -> None:
    from gate.running import suite_of

    with pytest.raises(BadRequest, match="'strays' has no suite"):
        suite_of(replace(AD_CTR, table="strays", measures=()))


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"impressions": -11}, ["impressions_not_negative", "spend_bounds"]),
        ({"clicks": 1}, ["clicks_seen"]),
        ({"impression_micros": 2_000}, ["impression_micros_seen"]),
        ({"click_micros": 10**13, "seen_click_micros": 10**13}, ["spend_bounds"]),
    ],
)
def test_a_row_that_cannot_be_blocks_and_is_listed_by_its_key(desk: Desk, changes: dict[str, int], names: Any) -> None:
    rows = altered(ROWS, 4, **changes)
    desk.both("ad_ctr", rows, rows)
    verdict = desk.judge("ad_ctr")
    assert blocking(verdict) == names
    (row,) = found(verdict, names[0]).rows
    assert (row["client_id"], row["ad_id"], row["window_start"]) == ("acme", "sock", minute(1).isoformat())


def test_rows_before_the_start_or_off_the_minute_block(desk: Desk) -> None:
    desk.starts[CANDIDATE] = minute(1)
    desk.both("ad_ctr", ROWS, ROWS)
    assert blocking(desk.judge("ad_ctr")) == ["windows_in_place"]
    desk.starts[CANDIDATE] = None
    desk.execute(
        "update data.ad_ctr_minute set window_start = window_start + interval '1 second' where version >= %s "
        "and ad_id = 'nut'",
        LIVE,
    )
    assert blocking(desk.judge("ad_ctr")) == ["windows_in_place"]


@pytest.mark.parametrize("measure", ["clicks", "click_micros", "seen_clicks", "seen_click_micros"])
def test_rows_that_the_books_do_not_know_block(desk: Desk, measure: str) -> None:
    rows = altered(ROWS, 4, **{measure: -1})
    desk.write("ad_ctr", LIVE, rows)
    desk.write("ad_ctr", CANDIDATE, rows, booked=ROWS)
    assert "rows_match_books" in blocking(desk.judge("ad_ctr"))


def test_records_that_were_not_read_block(desk: Desk) -> None:
    desk.both("ad_ctr", ROWS, ROWS)
    desk.execute("update registry.progress set next_offset = next_offset + 1 where version = %s", CANDIDATE)
    assert blocking(desk.judge("ad_ctr")) == ["nothing_skipped"]


def test_batches_that_were_folded_are_in_the_books(desk: Desk) -> None:
    """A candidate that was behind for longer than batches are kept one by one."""
    desk.both("ad_ctr", ROWS, ROWS)
    desk.execute(
        "update registry.batch set committed_at = committed_at - interval '9 days' where version = %s", CANDIDATE
    )
    registry = PostgresRegistry(desk.settings.dsn("kappa_registry"))
    (old,) = registry.old_batches(timedelta(days=3), 0)
    assert (old.version, registry.fold(old)) == (CANDIDATE, 1)
    assert blocking(desk.judge("ad_ctr")) == []


@pytest.mark.parametrize("state", ["FAILED", "RETIRED"])
def test_a_candidate_that_is_over_blocks(desk: Desk, state: str) -> None:
    desk.both("ad_ctr", ROWS, ROWS)
    desk.execute("update registry.job_version set state = %s where version = %s", state, CANDIDATE)
    assert blocking(desk.judge("ad_ctr")) == ["not_over"]


def test_a_candidate_far_behind_is_told_and_does_not_block(desk: Desk) -> None:
    desk.both("ad_ctr", ROWS, ROWS)
    desk.execute(
        "update registry.progress set read_append_time = read_append_time - interval '61 seconds' where version = %s",
        CANDIDATE,
    )
    verdict = desk.judge("ad_ctr")
    assert verdict.success
    assert not found(verdict, "freshness").success


def test_spend_of_the_two_jobs_must_be_equal_per_client(desk: Desk) -> None:
    off = altered(client_rows(ROWS), 3, click_micros=-1)
    desk.both("ad_ctr", ROWS, ROWS)
    desk.both("client_spend", off, off)
    verdict = desk.judge("ad_ctr", "client_spend")
    assert blocking(verdict) == ["spend_of_both_jobs"]
    (row,) = found(verdict, "spend_of_both_jobs").rows
    assert (row["client_id"], row["ad_ctr_click_micros"], row["client_spend_click_micros"]) == ("bolt", 70_000, 69_999)
    assert desk.judge("client_spend").success


def test_a_client_that_only_one_job_has_blocks(desk: Desk) -> None:
    some = client_rows(ROWS)[1:]
    desk.both("ad_ctr", ROWS, ROWS)
    desk.both("client_spend", some, some)
    assert blocking(desk.judge("ad_ctr", "client_spend")) == ["spend_of_both_jobs"]


def refused(offset: int, fate: str) -> Row:
    return {
        "topic": "t", "partition": 0, "offset": offset, "append_time": minute(0), "fate": fate, "reason": "r",
    }  # fmt: skip


def test_the_same_records_must_be_refused_where_both_have_read(desk: Desk) -> None:
    live = [refused(101, "dead_letter"), refused(102, "late"), refused(119, "late")]
    desk.write("quarantine", LIVE, live, offsets=20)
    desk.write("quarantine", CANDIDATE, live[:2], offsets=19)
    verdict = desk.judge("quarantine")
    assert verdict.success
    assert verdict.comparisons[0].compared == 19
    desk.execute("update data.quarantine set fate = 'future' where version = %s and fate = 'late'", CANDIDATE)
    verdict = desk.judge("quarantine")
    assert blocking(verdict) == ["parity"]
    (row,) = found(verdict, "parity", "quarantine").rows
    assert (row["offset"], row["live_fate"], row["candidate_fate"]) == (102, "late", "future")


def test_a_version_that_starts_later_may_lack_late_records_but_no_dead_letter(desk: Desk) -> None:
    desk.starts[CANDIDATE] = minute(1)
    desk.write("quarantine", LIVE, [refused(101, "dead_letter"), refused(102, "late")], offsets=20)
    desk.write("quarantine", CANDIDATE, [refused(101, "dead_letter")], offsets=20)
    assert desk.judge("quarantine").success
    desk.execute("delete from data.quarantine where version = %s", CANDIDATE)
    assert blocking(desk.judge("quarantine")) == ["parity"]


def test_refused_records_that_are_no_longer_kept_are_not_missing(desk: Desk) -> None:
    """The live version forgot what was before offset 103; the candidate has just read it again."""
    both = [refused(offset, "late") for offset in (101, 102, 104)]
    desk.write("quarantine", LIVE, both[2:], offsets=20)
    desk.write("quarantine", CANDIDATE, both, offsets=20)
    assert blocking(desk.judge("quarantine")) == ["parity"]
    desk.execute("update registry.progress set kept_from = 103 where version = %s", LIVE)
    verdict = desk.judge("quarantine")
    assert (verdict.success, verdict.comparisons[0].compared) == (True, 17)
    desk.execute('delete from data.quarantine where version = %s and "offset" = 104', CANDIDATE)
    assert blocking(desk.judge("quarantine")) == ["parity"]


def test_nothing_read_by_both_fails(desk: Desk) -> None:
    desk.write("quarantine", LIVE, [], offsets=0)
    desk.write("quarantine", CANDIDATE, [], offsets=20)
    verdict = desk.judge("quarantine")
    assert blocking(verdict) == ["something_compared"]
    assert not verdict.success
