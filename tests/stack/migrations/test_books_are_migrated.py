"""A stack that ran before there were totals: the migration adds up what was booked, and indexes reach all versions."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from kappa.core.installation.settings import Settings
from kappa.registry.postgres import PostgresRegistry
from stack import schema
from stack.layout import Layout
from stack.services import postgres
from stack.services.passwords import SUPERUSER
from tests.plugins.registries import COUNTS

pytestmark = pytest.mark.rig

BEFORE = "0008"
_ACCOUNTING = "select * from ops.accounting order by job, version"
_BATCH = f"""
insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets,
    {", ".join(COUNTS)})
select 'ad_ctr', version, generation, n, 1, 't', '{{}}', '{{}}',
    3 * n, n, n, 0, n, 0, 0, 0, 5 * n, 6 * n, 0, 7 * n, 0, 0, 1
from generate_series(%s::bigint, %s) n cross join (values (1, 1), (1, 2), (2, 1)) as of (version, generation)"""
_STAGE = """
insert into registry.job_version (job, version, artifact, state_digest, result_digest, settings, topic, topic_id,
    start_offsets) select 'ad_ctr', n, 'a', 's', 'r', '{}', 't', 'i', '{}' from generate_series(1, 3) n"""


@pytest.fixture
def old(parts: Layout) -> Settings:
    """A database as it was before, with two versions that have read and one that has not."""
    settings = replace(parts.settings, database="before_totals")
    with psycopg.connect(settings.dsn(SUPERUSER, "postgres"), autocommit=True) as connection:
        connection.execute("drop database if exists before_totals with (force)")
    postgres.ensure_roles(settings)
    schema.migrate(settings, BEFORE)
    with psycopg.connect(settings.dsn("kappa_owner")) as connection:
        connection.execute(_STAGE)
        connection.execute("select registry.add_rows_partition('ad_ctr', 1)")
        connection.execute(_BATCH, [1, 50])
    return settings


def test_the_accounting_is_what_it_was_and_goes_on(old: Settings) -> None:
    with psycopg.connect(old.dsn("kappa_owner"), autocommit=True) as connection:
        before = connection.execute(_ACCOUNTING).fetchall()
        schema.migrate(old)
        assert connection.execute(_ACCOUNTING).fetchall() == before
        connection.execute(_BATCH, [51, 52])
        after = connection.execute("select read from ops.accounting order by version").fetchall()
    assert after == [(2 * 3 * 52 * 53 // 2,), (3 * 52 * 53 // 2,), (0,)]
    assert PostgresRegistry(old.dsn("kappa_registry")).misbooked() == []


def test_rows_are_found_by_their_minute_in_old_and_new_versions(old: Settings) -> None:
    schema.migrate(old)
    with psycopg.connect(old.dsn("kappa_owner"), autocommit=True) as connection:
        connection.execute("select registry.add_rows_partition('ad_ctr', 2)")
        tables = connection.execute(
            "select x.indrelid::regclass::text from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid "
            "where i.inhparent = 'data.ad_ctr_minute_window'::regclass order by 1"
        ).fetchall()
    assert tables == [("data.ad_ctr_minute_v1",), ("data.ad_ctr_minute_v2",)]
