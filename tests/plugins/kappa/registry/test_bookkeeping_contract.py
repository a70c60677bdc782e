"""What the registry promises of old batches and refused records, asked of the fake and of the one in Postgres alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from kappa.registry.bookkeeping_port import BatchesTorn, OldBatches, OldRefusals
from tests.plugins.book_trials import JOB, BookTrial, FakeBookTrial, PostgresBookTrial, ago

KEEP = timedelta(hours=72)


@pytest.fixture(params=["fake", pytest.param("postgres", marks=pytest.mark.rig)])
def books(request: pytest.FixtureRequest) -> Iterator[BookTrial]:
    if request.param == "fake":
        yield FakeBookTrial()
    else:
        yield PostgresBookTrial(request.getfixturevalue("cases").case("ad_ctr", "quarantine"))


def _fold(books: BookTrial, newest: int = 0) -> list[int]:
    """Fold all that may be; the numbers of batches by generation."""
    return [books.registry.fold(old) for old in books.registry.old_batches(KEEP, newest)]


def test_old_batches_become_one_row_an_hour_and_the_accounting_stays_as_it_was(books: BookTrial) -> None:
    times = [(100, 1), (100, 40), (99, 2), (80, 0), (80, 59), (60, 0), (0, 0)]
    for number, (hours, minutes) in enumerate(times):
        books.commit(number * 2, number + 1, ago(books, hours, minutes))
    assert books.registry.old_batches(KEEP, 0) == [OldBatches(JOB, 1, 1, 0, 8, 5)]
    assert (books.read(), books.registry.misbooked()) == (28, [])
    assert _fold(books) == [5]
    assert (books.batches(), books.hours()) == ([10, 12], [(0, 2, 3), (4, 4, 3), (6, 8, 9)])
    assert (books.read(), books.registry.misbooked()) == (28, [])
    assert _fold(books) == []
    books.commit(14, 8, ago(books, 0))
    assert (books.read(), books.registry.misbooked()) == (36, [])


def test_the_newest_batches_of_each_generation_stay_however_old(books: BookTrial) -> None:
    for number in range(6):
        books.commit(number, 1, ago(books, 200, number), generation=1)
    for number in range(3):
        books.commit(number, 1, ago(books, 150, number), generation=2)
    assert _fold(books, newest=2) == [4, 1]
    assert (books.batches(1), books.batches(2)) == ([4, 5], [1, 2])
    assert (books.hours(1), books.hours(2)) == ([(0, 3, 4)], [(0, 0, 1)])
    books.retire()
    assert _fold(books, newest=2) == [2, 2], "no checkpoint names the batches of a version that is retired"
    assert (books.batches(1), books.batches(2), books.read()) == ([], [], 9)


def test_a_clock_that_went_back_keeps_no_batch_for_ever(books: BookTrial) -> None:
    for number, hours in enumerate((100, 90, 100, 100, 60, 100)):
        books.commit(number, 1, ago(books, hours, number))
    assert _fold(books) == [4]
    assert (books.batches(), books.hours()) == ([4, 5], [(0, 0, 1), (1, 1, 1), (2, 3, 2)])


def test_batches_whose_offsets_do_not_join_are_not_folded(books: BookTrial) -> None:
    for number, (hours, torn) in enumerate(((100, False), (99, False), (99, True), (98, False))):
        books.commit(number, 1, ago(books, hours), torn=torn)
    with pytest.raises(BatchesTorn, match=f"{JOB} v1 g1: batch 2 does not begin where the one before it ended"):
        _fold(books)
    assert (books.batches(), books.hours(), books.read()) == ([1, 2, 3], [(0, 0, 1)], 4)


def test_nor_are_those_that_do_not_join_what_was_folded_before(books: BookTrial) -> None:
    books.commit(0, 1, ago(books, 100))
    assert _fold(books) == [1]
    books.commit(1, 1, ago(books, 99), torn=True)
    with pytest.raises(BatchesTorn, match="batch 1 "):
        _fold(books)


def test_books_that_were_changed_by_hand_are_seen(books: BookTrial) -> None:
    books.commit(0, 5, ago(books, 100))
    books.meddle()
    assert books.registry.misbooked() == [f"{JOB} v1"]


def test_old_refused_records_are_forgotten_and_it_is_known_from_where_on_they_are_kept(books: BookTrial) -> None:
    old, new = ago(books, 24 * 91), ago(books, 24)
    for offset, appended_at, recorded_at in (
        (3, old, old),
        (7, old, old),
        (8, old, new),
        (9, old, old),
        (12, new, new),
    ):
        books.refuse(0, offset, appended_at, recorded_at)
    books.refuse(1, 5, old, old)
    due = books.registry.old_refusals(timedelta(days=90))
    assert due == [OldRefusals(1, 0, 8, 2), OldRefusals(1, 1, 6, 1)], "what follows a young one stays with it"
    assert (books.refused(), books.kept_from()) == ({0: [3, 7, 8, 9, 12], 1: [5]}, {})
    assert [books.registry.forget(one) for one in due] == [2, 1]
    assert [books.registry.forget(one) for one in due] == [0, 0]
    assert (books.refused(), books.kept_from()) == ({0: [8, 9, 12]}, {0: 8, 1: 6})
    assert books.registry.old_refusals(timedelta(days=90)) == []
