"""What holds while versions are retired in Postgres: readers go on, and what was cut short is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from kappa.registry.postgres import PostgresReleases
from kappa.registry.releases_port import RowsInUse
from tests.plugins.at_once import HOLDS_OUT_SECONDS, PATIENCE_SECONDS, until_blocked
from tests.plugins.registries import BY
from tests.plugins.release_trials import PostgresReleaseTrial, author, stage
from tests.rigs.view_reader import await_looks, reading

pytestmark = pytest.mark.rig


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


def retire_in_use(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor, look: Callable[[], object], number: int, cut_short: bool
) -> None:
    """Retire a version of the first job whose rows somebody uses, and `look` while that waits: for the detachment of
    its rows, or for the end of one that was `cut_short`."""
    job, settings = serving.names[0], serving.settings
    patient = PostgresReleases(settings.dsn("kappa_registry"), settings.dsn("kappa_owner"), HOLDS_OUT_SECONDS)
    serving.write(job, number)
    with serving.in_use(job, number):
        if cut_short:
            with pytest.raises(RowsInUse):
                serving.releases.retire(job, number, BY)
            assert _pending(serving) == [True]
            stage(serving, author(), number + 1)
        under_way = pool.submit(patient.retire, job, number, BY)
        until_blocked(settings, "kappa_owner")
        look()
        assert not under_way.done(), "the rows are in use"
    assert under_way.result(PATIENCE_SECONDS).rows_bytes > 0


def test_no_reader_waits_while_a_version_is_retired(serving: PostgresReleaseTrial, pool: ThreadPoolExecutor) -> None:
    stage(serving, author())
    with reading(serving.settings, serving.names, every_seconds=0) as seen:
        retire_in_use(serving, pool, lambda: await_looks(seen), 2, cut_short=True)
        retire_in_use(serving, pool, lambda: await_looks(seen), 3, cut_short=False)
    assert _pending(serving) == []


def test_the_rows_of_a_table_are_read_while_one_of_its_versions_is_retired(
    serving: PostgresReleaseTrial, pool: ThreadPoolExecutor
) -> None:
    job = serving.names[0]
    stage(serving, author())
    serving.write(job, 1)
    limit = f"-c statement_timeout={round(PATIENCE_SECONDS * 1000)}"

    def look() -> None:
        with psycopg.connect(serving.settings.dsn("kappa_registry"), autocommit=True, options=limit) as reader:
            assert reader.execute(f"select count(*) from data.{job} where version = 1").fetchall() == [(1,)]

    retire_in_use(serving, pool, look, 2, cut_short=True)
    retire_in_use(serving, pool, look, 3, cut_short=False)
    assert _pending(serving) == []


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
