"""The reader that looks while other versions come to serve: what it takes for wrong."""

from __future__ import annotations

from tests.rigs.view_reader import Key, Snapshot, wrongs

KEY: Key = ("ad_ctr_minute", "c", "2026-01-31 09:30:00+00")
OLD, NEW = {"ad_ctr": 1, "client_spend": 1}, {"ad_ctr": 2, "client_spend": 2}


def test_counts_that_grow_are_right_and_one_that_falls_or_goes_is_not() -> None:
    before = Snapshot(OLD, {KEY: (3, 10)})
    assert list(wrongs(before, Snapshot(OLD, {KEY: (3, 11)}))) == []
    (fell,) = wrongs(before, Snapshot(OLD, {KEY: (4, 9)}))
    assert (fell.what, fell.before, fell.after, fell.moved) == ("fell", (3, 10), (4, 9), False)
    (gone,) = wrongs(before, Snapshot(NEW, {}))
    assert (gone.after, gone.moved) == (None, True)


def test_a_final_does_not_change_whoever_serves() -> None:
    before = Snapshot(OLD, {KEY: (3, 10)}, frozenset([KEY]))
    assert list(wrongs(before, Snapshot(NEW, {KEY: (3, 10)}))) == []
    (changed,) = wrongs(before, Snapshot(NEW, {KEY: (3, 11)}))
    assert changed.what == "a final changed"
