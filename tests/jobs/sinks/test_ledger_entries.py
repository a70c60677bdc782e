"""Double entry as the ledger's transaction calls it, on a real Postgres: rows, counts and what is kept must agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import psycopg
import pytest

from jobs.sinks.entries import DoubleEntryBroken
from jobs.sinks.ledger import Batch
from kappa.core.measures import MEASURES
from tests.jobs.books import (
    CLICK,
    FIRST,
    SECOND,
    Desk,
    Event,
    moved,
    quarantined,
    refusals,
    totals,
)

pytestmark = pytest.mark.rig


@pytest.mark.red_without("double entry", "DID NOT RAISE .*DoubleEntryBroken|CheckViolation")
@pytest.mark.parametrize("measure", [name for name in MEASURES if name.startswith("seen_")])
@pytest.mark.parametrize("by", [1, -1])
def test_what_arrived_in_the_rows_is_what_the_batch_accepted(desk: Desk, measure: str, by: int) -> None:
    desk.write(desk.book.batch(0, FIRST))
    batch = desk.book.batch(1, SECOND)
    desk.refuses(replace(batch, rows=moved(batch, measure, by)), DoubleEntryBroken, "double entry")


def test_a_row_that_is_left_out_is_missed(desk: Desk) -> None:
    batch = desk.book.batch(0, FIRST)
    desk.refuses(replace(batch, rows=batch.rows.slice(1)), DoubleEntryBroken, "seen impressions")


@pytest.mark.parametrize("measure", ["impressions", "clicks"])
def test_no_more_is_counted_than_arrived(desk: Desk, measure: str) -> None:
    batch = desk.book.batch(0, [Event(), CLICK])
    desk.refuses(replace(batch, rows=moved(batch, measure, 1)), DoubleEntryBroken, "counted")


@pytest.mark.parametrize("measure", MEASURES)
def test_a_value_never_falls(desk: Desk, measure: str) -> None:
    """Though the sums agree: what falls in one row rises in another."""
    desk.write(desk.book.batch(0, FIRST))
    batch = desk.book.batch(1, [Event(), Event(ad="a2"), CLICK, CLICK._replace(ad="a2")])
    held = {row["ad_id"]: row for row in batch.rows.to_pylist()}
    by = held["a1"][measure] + 1
    shifted = moved(replace(batch, rows=moved(batch, measure, -by, "a1")), measure, by, "a2")
    desk.refuses(replace(batch, rows=shifted), DoubleEntryBroken, "fell should be 0, but is 1")


def test_a_batch_whose_fates_do_not_add_up_is_not_kept(desk: Desk) -> None:
    """By the database itself: the rows agree, but a record was read that has no fate."""
    batch = desk.book.batch(0, FIRST)
    odd = replace(batch, observed=replace(batch.observed, read=6), end={0: 5, 1: 1})
    desk.refuses(odd, psycopg.errors.CheckViolation, "conservation")


@pytest.mark.parametrize(
    "broken",
    [
        lambda batch: replace(batch, end={0: 99, 1: 1}),
        lambda batch: replace(batch, rows=moved(batch, "seen_clicks", 1)),
    ],
    ids=["offsets", "double entry"],
)
def test_after_a_refusal_the_right_batch_is_written(desk: Desk, broken: Callable[[Batch], Batch]) -> None:
    batch = desk.book.batch(0, FIRST)
    desk.refuses(broken(batch), Exception)
    desk.write(batch)
    assert totals(desk.case) == desk.book.totals


def test_refused_records_are_kept_once(keeper: Desk) -> None:
    offsets = {0: 0, 1: 0}
    first = quarantined(0, 3, 2, offsets)
    assert keeper.write(first).rows == 3
    assert keeper.write(first) == replace(keeper.write(first), rewrite=True, rows=0)
    assert keeper.write(quarantined(1, 1, 0, offsets)).rows == 1
    assert [row["offset"] for row in keeper.case.rows("quarantine")] == [0, 1, 2, 5]
    told = keeper.case.accounts("quarantine")
    assert (told["read"], told["dead_letter"], told["counted"]) == (6, 4, 2)


@pytest.mark.parametrize("kept", [[0, 1], [0, 1, 2, 3]], ids=["one short", "one more"])
def test_as_many_records_are_kept_as_were_refused(keeper: Desk, kept: list[int]) -> None:
    batch = quarantined(0, 3, 2, {0: 0, 1: 0})
    keeper.refuses(replace(batch, rows=refusals(kept)), DoubleEntryBroken, "kept in quarantine should be 3")


def test_a_batch_of_the_quarantine_that_comes_again_keeps_nothing_new(keeper: Desk) -> None:
    batch = quarantined(0, 2, 0, {0: 0, 1: 0})
    keeper.write(batch)
    keeper.refuses(replace(batch, rows=refusals([0, 1, 2])), DoubleEntryBroken, "should be 0, but is 1")
