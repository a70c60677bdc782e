"""The transaction of a micro-batch in all its branches, on a real Postgres: it is whole, or nothing of it stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.sinks.entries import DoubleEntryBroken
from jobs.sinks.ledger import Batch, CountedTwice, Fenced, OffsetsDoNotJoin, OffsetsHaveGaps
from jobs.transforms.tally import Tally
from kappa.core.fates import Fate
from kappa.core.measures import MEASURES
from tests.jobs.books import (
    FIRST,
    SECOND,
    WATERMARK,
    Desk,
    Event,
    desk_of,
    moved,
    ms_of,
    stored,
    totals,
)
from tests.jobs.records import NOON
from tests.rigs.case import Case

pytestmark = pytest.mark.rig
REFUSED = {Fate.LATE: Tally(2, 30), Fate.DEAD_LETTER: Tally(1, 0)}


def test_a_batch_leaves_its_rows_its_fates_and_its_offsets(desk: Desk) -> None:
    batch = desk.book.batch(0, FIRST, REFUSED)
    written = desk.write(batch, {1: NOON + 60_000}, {0: 20, 1: 1})
    assert (written.rewrite, written.rows) == (False, 2)
    assert totals(desk.case) == desk.book.totals
    (told,) = desk.case.batches("ad_ctr")
    assert told["start_offsets"] == {"0": 0, "1": 0}
    assert told["end_offsets"] == {"0": 7, "1": 1}
    assert told["watermark"].timestamp() * 1000 == WATERMARK
    records = {fate.value: told[fate.value] for fate in Fate}
    assert records == {
        "counted": 3, "duplicate": 1, "repeated_click": 1, "late": 2, "future": 0, "before_start": 0, "dead_letter": 1,
    }  # fmt: skip
    assert told["read"] == sum(records.values())
    assert [told[f"{name}_micros"] for name in ("counted", "duplicate", "repeated_click", "late")] == [
        9_000, 1_000, 7_000, 30,
    ]  # fmt: skip
    assert (told["rows_changed"], told["epoch"], told["topic_id"], told["generation"]) == (2, 0, "topic-1", 1)


def test_progress_only_grows(desk: Desk) -> None:
    desk.write(desk.book.batch(0, FIRST), {1: NOON + 60_000}, {0: 20, 1: 1})
    later = desk.book.batch(1, SECOND)
    older = {0: NOON - 1_000, 1: NOON - 1_000}
    desk.write(replace(later, observed=replace(later.observed, newest_append_ms=older)), {1: NOON}, {0: 5, 1: 1})
    found = {
        row["partition"]: row for row in stored(desk.case, desk.book.owner.job)["progress"] if row["job"] == "ad_ctr"
    }
    assert {p: row["next_offset"] for p, row in found.items()} == desk.book.offsets == {0: 6, 1: 2}
    assert {p: row["end_offset"] for p, row in found.items()} == {0: 20, 1: 2}, "never before what has been read"
    assert {p: ms_of(row["read_append_time"]) for p, row in found.items()} == {0: NOON + 1_000, 1: NOON + 1_000}
    assert found[0]["drained_at"] is None
    assert ms_of(found[1]["drained_at"]) == NOON + 60_000


def test_a_partition_of_which_nothing_was_read_keeps_its_append_time(desk: Desk) -> None:
    desk.write(desk.book.batch(0, [Event(partition=1)]))
    desk.write(desk.book.batch(1, [Event(partition=0)]))
    known = desk.case.query("select count(*) from registry.progress where read_append_time is not null")
    assert known == [{"count": 2}]


def test_a_batch_of_refused_records_only_changes_no_row(desk: Desk) -> None:
    assert desk.write(desk.book.batch(0, [], REFUSED)).rows == 0
    assert desk.case.accounts("ad_ctr")["late"] == 2


@pytest.mark.red_without("fence", "DID NOT RAISE .*Fenced")
@pytest.mark.parametrize("epoch", [1, -1], ids=["taken over", "a fence of an older epoch"])
def test_who_does_not_hold_the_fence_writes_nothing(desk: Desk, epoch: int) -> None:
    desk.write(desk.book.batch(0, FIRST))
    desk.case.query("update registry.fence set epoch = epoch + %s", epoch)
    desk.refuses(desk.book.batch(1, SECOND), Fenced, "epoch 0 was taken over.* Batch 1 was refused")


def test_the_fence_is_of_the_one_version(desk: Desk) -> None:
    desk.case.query("update registry.fence set epoch = 9 where job <> 'ad_ctr'")
    desk.write(desk.book.batch(0, FIRST))
    desk.book.owner = replace(desk.book.owner, version=2)
    desk.refuses(desk.book.batch(1, SECOND), Fenced)


@pytest.mark.red_without("offset join", "DID NOT RAISE .*OffsetsDoNotJoin")
@pytest.mark.parametrize(
    "end",
    [
        {0: 3, 1: 2}, {0: 9, 1: -1}, {0: 8}, {0: 6, 1: 2, 2: 0}, {},
    ],
    ids=[
        "an overlap", "before the start",
        "a partition is missing", "a partition is new", "no partition",
    ],
)  # fmt: skip
def test_a_batch_that_does_not_join_the_last_one_is_refused(desk: Desk, end: dict[int, int]) -> None:
    desk.write(desk.book.batch(0, FIRST))
    assert desk.book.offsets == {0: 4, 1: 1}
    batch = desk.book.batch(1, SECOND)
    assert batch.end == {0: 6, 1: 2}
    desk.refuses(replace(batch, end=end), OffsetsDoNotJoin, "batch 1 should cover")


@pytest.mark.red_without("offset join", "DID NOT RAISE .*OffsetsHaveGaps")
@pytest.mark.parametrize(("end", "moved_over"), [({0: 8, 1: 2}, 5), ({0: 6, 1: 3}, 4)])
def test_a_batch_that_moves_over_more_offsets_than_it_read_records_is_refused(
    desk: Desk, end: dict[int, int], moved_over: int
) -> None:
    desk.write(desk.book.batch(0, FIRST))
    batch = desk.book.batch(1, SECOND)
    desk.refuses(
        replace(batch, end=end), OffsetsHaveGaps, f"moves over {moved_over} offsets, but read 3 records.*compaction"
    )


def test_a_batch_that_read_another_number_of_records_is_refused(desk: Desk) -> None:
    batch = desk.book.batch(0, FIRST)
    for read, error in ((4, OffsetsHaveGaps), (6, CountedTwice)):
        desk.refuses(replace(batch, observed=replace(batch.observed, read=read)), error)
    desk.write(batch)


def test_batch_ids_may_have_gaps(desk: Desk) -> None:
    desk.write(desk.book.batch(3, FIRST))
    desk.write(desk.book.batch(9, SECOND))
    assert [batch["batch_id"] for batch in desk.case.batches("ad_ctr")] == [3, 9]


def test_a_batch_that_comes_again_changes_nothing(desk: Desk) -> None:
    first = desk.book.batch(0, FIRST, REFUSED)
    desk.write(first)
    before = stored(desk.case, desk.book.owner.job)
    again = desk.write(first, {0: NOON}, {0: 99})
    assert again.rewrite
    assert stored(desk.case, desk.book.owner.job) == before


def test_a_batch_that_comes_again_with_other_offsets_is_refused(desk: Desk) -> None:
    first = desk.book.batch(0, FIRST)
    desk.write(first)
    desk.refuses(replace(first, end={0: 3, 1: 2}), OffsetsDoNotJoin, "batch 0")


@pytest.mark.red_without("double entry", "DID NOT RAISE .*DoubleEntryBroken")
def test_a_batch_that_comes_again_with_other_rows_is_refused(desk: Desk) -> None:
    first = desk.book.batch(0, FIRST)
    desk.write(first)
    for measure in MEASURES:
        desk.refuses(replace(first, rows=moved(first, measure, 1)), DoubleEntryBroken)


@pytest.mark.red_without("generation of a batch", "OffsetsDoNotJoin: batch 0 should cover")
def test_the_same_batch_id_of_another_generation_is_another_batch(desk: Desk) -> None:
    desk.write(desk.book.batch(0, FIRST))
    desk.book.owner = replace(desk.book.owner, generation=2)
    assert not desk.write(desk.book.batch(0, SECOND)).rewrite
    assert len(desk.case.batches("ad_ctr")) == 2


@st.composite
def _histories(draw: st.DrawFn) -> list[tuple[list[Event], int, str]]:
    """Batches of a few events with a few late records, each followed by what goes wrong with it."""
    event = st.builds(
        Event, kind=st.sampled_from(["impression", "click"]), ad=st.sampled_from(["a1", "a2", "a3"]),
        micros=st.integers(0, 10**12), counts=st.booleans(), partition=st.integers(0, 1),
    )  # fmt: skip
    trouble = st.sampled_from(["", "again", "fenced", "offsets", "seen", "again, other offsets"])
    return draw(st.lists(st.tuples(st.lists(event, max_size=6), st.integers(0, 2), trouble), min_size=1, max_size=6))


@given(history=_histories())
@settings(max_examples=25, deadline=None)
def test_whatever_comes_the_books_hold_what_was_written_and_nothing_else(
    case: Case, history: list[tuple[list[Event], int, str]]
) -> None:
    for desk in desk_of(case, "ad_ctr"):
        read = 0
        for batch_id, (events, late, trouble) in enumerate(history):
            batch = desk.book.batch(batch_id, events, {Fate.LATE: Tally(late, late)})
            _attempt_in_vain(desk, batch, trouble)
            assert not desk.write(batch).rewrite
            read += batch.observed.read
            if trouble == "again":
                assert desk.write(batch).rewrite
            if trouble == "again, other offsets":
                desk.refuses(replace(batch, end={**batch.end, 1: batch.end[1] + 1}), OffsetsDoNotJoin)
        assert totals(case) == desk.book.totals
        assert case.accounts("ad_ctr")["read"] == read
        case.check_ranges("ad_ctr")


def _attempt_in_vain(desk: Desk, batch: Batch, trouble: str) -> None:
    if trouble == "fenced":
        desk.case.query("update registry.fence set epoch = 1")
        desk.refuses(batch, Fenced)
        desk.case.query("update registry.fence set epoch = 0")
    elif trouble == "offsets":
        desk.refuses(replace(batch, end={**batch.end, 0: batch.end[0] + 1}), OffsetsHaveGaps)
    elif trouble == "seen" and batch.rows.num_rows:
        desk.refuses(replace(batch, rows=moved(batch, "seen_impression_micros", 1)), DoubleEntryBroken)
