"""Batches that were folded and records that were forgotten, as explain, reconcile and a replay's price see them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kappa.registry.postgres import PostgresReleases
from oracle.lineage import holding
from oracle.postgres import PostgresDatabase
from oracle.postgres_lineage import PostgresLineage
from tests.plugins.book_trials import JOB, PostgresBookTrial, ago
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


@pytest.fixture
def books(cases: Rig) -> PostgresBookTrial:
    return PostgresBookTrial(cases.case("ad_ctr", "quarantine"))


def _fold(books: PostgresBookTrial) -> None:
    for old in books.registry.old_batches(timedelta(days=3), 0):
        books.registry.fold(old)


def test_each_record_is_in_one_batch_folded_or_not(books: PostgresBookTrial) -> None:
    """Two hours of three batches each, and a young one; each read two records."""
    for number in range(6):
        books.commit(number, 2, ago(books, 100 - number // 3, number))
    books.commit(6, 2, ago(books, 1))
    _fold(books)
    lineage = PostgresLineage(books.case.settings.dsn("kappa_operator"))
    near = lineage.batches(JOB, 1, {0: (0, 13)})
    kept, times = holding(near, [(0, offset) for offset in range(14)])
    assert [(batch.batch_id, batch.last_batch_id, batch.offsets) for batch in kept] == [
        (0, 2, {0: (0, 6)}), (3, 5, {0: (6, 12)}), (6, None, {0: (12, 14)}),
    ]  # fmt: skip
    assert set(times.values()) == {1}
    assert [batch.batch_id for batch in lineage.batches(JOB, 1, {0: (6, 11)})] == [3]


def test_reconcile_is_told_from_where_on_refused_records_are_kept(books: PostgresBookTrial) -> None:
    old, new = ago(books, 24 * 91), ago(books, 1)
    for partition in (0, 1):
        for offset, at in ((3, old), (5, new)):
            books.refuse(partition, offset, at, at)
    for due in books.registry.old_refusals(timedelta(days=90)):
        books.registry.forget(due)
    books.case.query("update registry.progress set next_offset = 9")
    database = PostgresDatabase(books.case.settings.dsn("kappa_operator"))
    served = {served.job: served for served in database.snapshot(None).jobs}
    assert set(served["quarantine"].quarantine or ()) == {(0, 5), (1, 5)}
    assert served["quarantine"].live.kept_from == {0: 5, 1: 5}
    assert served[JOB].live.kept_from == {}


def test_how_fast_a_job_reads_is_still_known_when_its_replay_was_folded(books: PostgresBookTrial) -> None:
    """Batches of 100 records, all that they may read, a second each: flat out. The first has none before it."""
    books.case.query(
        """update registry.job_version set settings = settings || '{"records_per_batch": 100, "cadence_ms": 500}'"""
    )
    for number in range(5):
        books.commit(number, 100, ago(books, 100) + timedelta(seconds=number))
    assert _speed(books.case) == pytest.approx(100)
    _fold(books)
    assert books.batches() == []
    assert _speed(books.case) == pytest.approx(100)


def _speed(case: Case) -> float | None:
    dsn = case.settings.dsn("kappa_registry")
    return PostgresReleases(dsn, dsn).weighed(JOB, 1).replays_per_s
