"""What holds while versions are retired in Postgres: readers go on, and what was cut short is finished."""

from __future__ import annotations

import time
from threading import Event, Thread

import psycopg
import pytest
from kappa.hooks.release_conflicts import RowsInUse

from tests.plugins.readers import AT_ONCE, reading
from tests.plugins.registries import BY
from tests.plugins.release_trials import PostgresReleaseTrial, author, stage

pytestmark = pytest.mark.rig


def test_no_reader_waits_while_a_version_is_retired(serving: PostgresReleaseTrial) -> None:
    stage(serving, author())
    serving.write(serving.names[0], 2)
    with reading(serving) as reader:
        with serving.in_use(serving.names[0], 2), pytest.raises(RowsInUse):
            serving.releases.retire(serving.names[0], 2, BY)
        assert _pending(serving) == [True]
        stage(serving, author(), 3)
        serving.releases.retire(serving.names[0], 2, BY)
        serving.releases.retire(serving.names[0], 3, BY)
    assert _pending(serving) == []
    assert reader.longest < AT_ONCE


def test_the_rows_of_a_table_are_read_while_one_of_its_versions_is_retired(serving: PostgresReleaseTrial) -> None:
    job, longest = serving.names[0], 0.0
    stage(serving, author())
    for number in (1, 2):
        serving.write(job, number)
    over = Event()

    def poll() -> None:
        nonlocal longest
        with psycopg.connect(serving.settings.dsn("kappa_registry"), autocommit=True) as connection:
            while not over.is_set():
                began = time.monotonic()
                rows = connection.execute(f"select count(*) from data.{job} where version = 1").fetchall()
                assert rows == [(1,)]
                longest = max(longest, time.monotonic() - began)

    thread = Thread(target=poll)
    thread.start()
    try:
        with serving.in_use(job, 2), pytest.raises(RowsInUse):
            serving.releases.retire(job, 2, BY)
        assert serving.releases.retire(job, 2, BY).rows_bytes > 0
    finally:
        over.set()
        thread.join()
    assert 0 < longest < AT_ONCE


def test_another_retirement_of_the_table_finishes_what_was_cut_short(serving: PostgresReleaseTrial) -> None:
    job = serving.names[0]
    for number in (2, 3):
        stage(serving, author(), number)
        serving.write(job, number)
    with serving.in_use(job, 2), pytest.raises(RowsInUse):
        serving.releases.retire(job, 2, BY)
    assert serving.releases.retire(job, 3, BY).rows_bytes > 0
    assert serving.releases.unfreed() >= {(job, 2)}
    assert serving.releases.retire(job, 2, BY).rows_bytes > 0


def _pending(serving: PostgresReleaseTrial) -> list[bool]:
    """Of the children of the first job's table beside that of version 1: whether their detachment was cut short."""
    with psycopg.connect(serving.settings.dsn("kappa_owner")) as owner:
        rows = owner.execute(
            "select inhdetachpending from pg_inherits where inhparent = %s::regclass and inhrelid <> %s::regclass",
            [f"data.{serving.names[0]}", f"data.{serving.names[0]}_v1"],
        )
        return [row[0] for row in rows]
