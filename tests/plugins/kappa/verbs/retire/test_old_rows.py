"""Old rows of the books: what is planned is done, once, whatever cuts it short; what is wrong keeps its evidence."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kappa.core.audit import Author
from kappa.registry.bookkeeping_port import BatchesTorn, BooksDiffer
from kappa.verbs.retire import old_rows
from kappa.verbs.retire.old_files_plan import KEEP
from tests.plugins.conftest import Stage
from tests.plugins.fake_books import FakeBatch, FakeBooks
from tests.plugins.registries import BY, version

SWEEP = Author("airflow", "sweep-1")
FEW = replace(KEEP, newest_batches=2)
G1, G2 = ("ad_ctr", 1, 1), ("client_spend", 1, 1)


@pytest.fixture
def old(stage: Stage) -> Stage:
    """Both jobs with three hours of old batches and some young ones; old refused records in two partitions."""
    registry, now = stage.registry, stage.clock.now()
    for job in ("ad_ctr", "client_spend", "quarantine"):
        registry.stage(version(job), BY, {})
    for key in (G1, G2):
        for number in range(9):
            registry.book(key, FakeBatch(number, number, now - timedelta(hours=100 - number // 3)))
        for number in range(9, 12):
            registry.book(key, FakeBatch(number, number, now))
    for partition in (0, 1):
        registry.refused[1, partition] = {n: now - timedelta(days=91 - n) for n in range(3)}
    return stage


def _sweep(stage: Stage) -> str:
    return old_rows.carry_out(stage.platform, old_rows.plan_old_rows(stage.platform, FEW), SWEEP)


def _books(registry: FakeBooks) -> dict[str, object]:
    names = ("committed", "hours", "totals", "refused", "kept_from")
    return {name: repr(getattr(registry, name)) for name in names}


def test_what_is_planned_is_done_once_and_is_in_the_audit(old: Stage) -> None:
    before = _books(old.registry)
    plan = old_rows.plan_old_rows(old.platform, FEW)
    assert plan.sentence() == (
        "9 batches of ad_ctr v1 g1 (0 to 8), 9 batches of client_spend v1 g1 (0 to 8), "
        "1 refused records of quarantine v1, partition 0 (before offset 1), "
        "1 refused records of quarantine v1, partition 1 (before offset 1)"
    )
    assert _books(old.registry) == before, "a plan changes nothing"
    assert old_rows.carry_out(old.platform, plan, SWEEP) == f"folded or removed: {plan.sentence()}."
    assert [len(old.registry.committed[key]) for key in (G1, G2)] == [3, 3]
    assert old.registry.hours[G1] == [(0, 2, 3), (3, 5, 12), (6, 8, 21)]
    (entry,) = old.registry.entries(SWEEP.run_id)
    assert (entry.action, entry.evidence["folded"][0]["batches"]) == (old_rows.ACTION, 9)
    assert _sweep(old) == "no old rows."
    assert len(old.registry.entries(SWEEP.run_id)) == 1


def test_the_same_place_says_how_long_rows_and_files_are_kept() -> None:
    assert (KEEP.batches, KEEP.newest_batches, KEEP.refused) == (timedelta(days=3), 100, timedelta(days=90))


class _Killed(BaseException):
    """The process ends."""


@pytest.mark.parametrize("act", ["fold", "forget", "misbooked", "record"])
@pytest.mark.parametrize("done", [False, True])
def test_cut_short_anywhere_the_next_run_ends_where_one_run_would_have(
    old: Stage, monkeypatch: pytest.MonkeyPatch, act: str, done: bool
) -> None:
    """Killed in or after each call in turn, until a run comes through; the books never tell other sums."""
    whole, calls = getattr(old.registry, act), 0

    def dies(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls % 2:
            if done:
                whole(*arguments)
            raise _Killed
        return whole(*arguments)

    monkeypatch.setattr(old.registry, act, dies)
    totals = dict(old.registry.totals)
    kills = 0
    while True:
        try:
            last = _sweep(old)
        except _Killed:
            kills += 1
            assert old.registry.totals == totals
            continue
        if last == "no old rows.":
            break
    assert kills, f"{act} was never called"
    assert old.registry.hours == {key: [(0, 2, 3), (3, 5, 12), (6, 8, 21)] for key in (G1, G2)}
    assert old.registry.refused == {
        (1, p): {n: old.clock.now() - timedelta(days=91 - n) for n in (1, 2)} for p in (0, 1)
    }
    assert old.registry.kept_from == {(1, 0): 1, (1, 1): 1}
    monkeypatch.undo()
    assert old.registry.misbooked() == []


def test_books_that_do_not_add_up_are_left_as_they_are(old: Stage) -> None:
    old.registry.totals["ad_ctr", 1] += 1
    held = repr(old.registry.committed)
    with pytest.raises(BooksDiffer, match=r"ops\.accounting is not the sum of the batches of ad_ctr v1; nothing was"):
        _sweep(old)
    assert repr(old.registry.committed) == held
    assert old.registry.kept_from == {(1, 0): 1, (1, 1): 1}, "refused records have nothing to do with it"


def test_torn_batches_keep_those_of_no_other_version(old: Stage) -> None:
    held = old.registry.committed[G1]
    held[4] = replace(held[4], torn=True)
    with pytest.raises(BatchesTorn, match="ad_ctr v1 g1: batch 4 "):
        _sweep(old)
    assert [len(old.registry.committed[key]) for key in (G1, G2)] == [9, 3]
    assert [entry.action for entry in old.registry.entries(SWEEP.run_id)] == [old_rows.ACTION]
