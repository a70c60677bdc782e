"""What an engine shows, held against the oracle's rows."""

from __future__ import annotations

from bench.peers.expected import Rows, Stretch, counted, differences

ROWS: Rows = {("c", "a", 0): (3, 1, 700), ("c", "b", 0): (1, 0, 100)}


def test_the_same_rows_do_not_differ() -> None:
    assert differences(ROWS, dict(ROWS)) == []


def test_a_wrong_a_missing_and_an_additional_row_are_told_by_key() -> None:
    shown: Rows = {("c", "a", 0): (3, 1, 701), ("c", "z", 0): (1, 0, 100)}
    assert differences(ROWS, shown) == [("c", "a", 0), ("c", "b", 0), ("c", "z", 0)]


def test_events_that_count_are_impressions_and_clicks() -> None:
    assert counted(ROWS) == 5


def test_records_of_a_stretch_are_its_offsets() -> None:
    assert Stretch({0: 10, 1: 5}, {0: 15, 1: 7}).records == 7
