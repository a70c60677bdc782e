"""Append to visible, told from looks at the registry: which records took how long."""

from __future__ import annotations

import pytest

from kappa.console.latency import Look, Stretch, quantile, stretches, watched_seconds

T = 1_800_000_000.0


def look(at: float, records: int, committed: float, newest: float, through: float | None) -> Look:
    return Look(T + at, 1, T + committed, T + newest, None if through is None else T + through, records, 0, 0.0)


def test_what_was_read_between_two_looks_was_appended_after_the_first_and_seen_at_the_commit() -> None:
    before = look(0, 100, committed=-0.5, newest=-1, through=-1)
    after = look(1, 150, committed=1, newest=0.5, through=0.5)
    assert stretches([before, after]) == [Stretch(0.5, 2.0, 50)]


def test_where_nothing_was_committed_there_is_no_latency() -> None:
    same = look(0, 100, committed=-0.5, newest=-1, through=-1)
    assert stretches([same, look(1, 100, -0.5, -1, 0.9)]) == []
    assert quantile([], 0.5) is None


def test_a_partition_that_was_empty_until_now_is_read_through_until_now() -> None:
    """What came after a silence was not waiting since before it."""
    silent = look(0, 100, committed=-3600, newest=-3601, through=-0.1)
    (found,) = stretches([silent, look(1, 101, committed=1, newest=0.6, through=0.6)])
    assert found.least == pytest.approx(0.4)
    assert found.most == pytest.approx(1.1)


def test_what_was_committed_while_nobody_looked_is_told_by_nobody() -> None:
    """It was seen at commits that nobody knows of; by the newest one it would have taken minutes."""
    looks = [
        look(0, 100, committed=-0.5, newest=-1, through=-1),
        look(1, 150, committed=1, newest=0.5, through=0.5),
        look(180, 9_000, committed=179.5, newest=179, through=179),
        look(182, 9_100, committed=181.5, newest=181, through=181),
    ]
    assert [found.records for found in stretches(looks)] == [50, 100]
    assert max(found.most for found in stretches(looks)) == 2.5
    assert watched_seconds(looks) == 3.0


def test_clocks_that_differ_make_no_latency_below_nothing() -> None:
    (found,) = stretches([look(0, 0, 0, 0, 5), look(1, 9, committed=1, newest=1.2, through=1.2)])
    assert found == Stretch(0.0, 0.0, 9)


@pytest.mark.parametrize(("share", "seconds"), [(0.5, 1.0), (0.25, 0.5), (0.99, 1.98), (1.0, 2.0)])
def test_records_of_a_stretch_came_evenly(share: float, seconds: float) -> None:
    assert quantile([Stretch(0.0, 2.0, 1_000)], share) == pytest.approx(seconds)


def test_a_stretch_counts_by_its_records() -> None:
    many, few = Stretch(0.1, 0.1, 990), Stretch(30.0, 30.0, 10)
    assert quantile([few, many], 0.5) == pytest.approx(0.1)
    assert quantile([few, many], 0.99) == pytest.approx(0.1)
    assert quantile([few, many], 0.995) == pytest.approx(30.0)
