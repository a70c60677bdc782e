"""What a window's set comes to, as values."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from jobs.transforms import fold

Element = tuple[int, bytes, int, int]
SET = pa.list_(
    pa.struct([("kind", pa.int64()), ("id", pa.binary()), ("offset", pa.int64()), ("cost", pa.int64())]),
)
CLICK = 1


def counted(*sets: list[Element]) -> list[tuple[int, ...]]:
    """What counts of each set."""
    return [measures[:4] for measures in told(*sets)]


def told(*sets: list[Element]) -> list[tuple[int, ...]]:
    """MEASURES of each set."""
    names = ("kind", "id", "offset", "cost")
    events = pa.array([[dict(zip(names, one, strict=True)) for one in chosen] for chosen in sets], SET)
    return list(zip(*(measure.tolist() for measure in fold.count(events)), strict=True))


def test_the_least_offset_of_an_identity_counts_wherever_it_stands_in_the_set() -> None:
    assert counted([(0, b"a", 7, 70), (0, b"a", 5, 50), (0, b"a", 6, 60)]) == [(1, 0, 50, 0)]


@pytest.mark.parametrize("other", [(2, b"a", 2, 20), (0, b"b", 2, 20)])
def test_another_kind_or_another_id_is_another_identity(other: Element) -> None:
    assert counted([(0, b"a", 1, 10), other]) == [(2, 0, 30, 0)]


def test_the_same_identity_in_another_window_counts_there_too() -> None:
    assert counted([(0, b"a", 1, 10)], [(0, b"a", 2, 20)]) == [(1, 0, 10, 0), (1, 0, 20, 0)]


def test_clicks_and_impressions_are_counted_apart() -> None:
    assert counted([(0, b"a", 1, 10), (CLICK, b"u", 2, 300), (CLICK, b"u", 3, 999)]) == [(1, 1, 10, 300)]


def test_windows_without_an_event_count_nothing_and_shift_no_other() -> None:
    assert counted([], [(0, b"a", 1, 10)], []) == [(0, 0, 0, 0), (1, 0, 10, 0), (0, 0, 0, 0)]
    assert counted() == []


def test_sums_are_exact_where_floating_point_is_not() -> None:
    assert counted([(0, b"a", 1, 2**53), (0, b"b", 2, 1)]) == [(2, 0, 2**53 + 1, 0)]


def test_all_that_arrived_is_told_beside_what_counts() -> None:
    assert told([(0, b"a", 1, 10), (0, b"a", 2, 20), (CLICK, b"u", 3, 300), (CLICK, b"u", 4, 999)]) == [
        (1, 1, 10, 300, 2, 2, 30, 1_299)
    ]


def test_a_window_that_costs_more_than_a_column_holds_is_refused() -> None:
    dear = [(0, b"%d" % n, n, 2**61) for n in range(3)]
    assert told(dear[:2])[0][6] == 2**62
    with pytest.raises(fold.WindowTooCostly, match="may be 4,611,686,018,427,387,904; nothing was committed"):
        told(dear[:1], dear)


def test_a_slice_of_a_larger_batch_counts_its_own_rows_only() -> None:
    events = pa.array([[{"kind": 0, "id": b"a", "offset": n, "cost": 10**n}] for n in range(4)], SET)
    batch = pa.RecordBatch.from_arrays([pa.array(list("wxyz")), events], names=["key", fold.EVENTS])
    rows = fold.fold_batch(batch.slice(1, 2)).to_pylist()
    assert [(row["key"], row["impressions"], row["impression_micros"]) for row in rows] == [("x", 1, 10), ("y", 1, 100)]


def test_any_sets_count_as_a_plain_loop_over_them_says() -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    sets = [
        [(rng.randrange(6), rng.choice([b"", b"a", b"b", b"ab"]), rng.randrange(10**9), rng.randrange(10**12))
         for _ in range(rng.randrange(30))]
        for _ in range(50)
    ]  # fmt: skip
    assert told(*sets) == [(*_plainly(_first_of_each(one)), *_plainly(one)) for one in sets]


def _first_of_each(events: list[Element]) -> list[Element]:
    first: dict[tuple[int, bytes], Element] = {}
    for event in sorted(events, key=lambda e: e[2]):
        first.setdefault(event[:2], event)
    return list(first.values())


def _plainly(events: list[Element]) -> tuple[int, ...]:
    clicks = [e[3] for e in events if e[0] % 2]
    impressions = [e[3] for e in events if not e[0] % 2]
    return len(impressions), len(clicks), sum(impressions), sum(clicks)
