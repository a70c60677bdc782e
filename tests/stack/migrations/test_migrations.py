"""Migrations run over what is there: each on a database that was filled at the revision before, and all of them on one
of commit a221cc5; what readers and operators see stays the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from kappa.core.installation.settings import Settings
from stack import schema
from stack.layout import Layout
from stack.services import postgres
from stack.services.passwords import SUPERUSER

pytestmark = pytest.mark.rig

OLDEST = "0006"
"""The revision of commit a221cc5."""
FILLED: dict[str, tuple[str, ...]] = {
    OLDEST: (Path(__file__).with_name("schema_0006.sql").read_text(),),
    "0009": (
        "insert into registry.batch_hour select job, version, generation, batch_id, batch_id, 1, epoch, epoch, "
        "topic_id, start_offsets, end_offsets, watermark, read, counted, duplicate, repeated_click, late, future, "
        "before_start, dead_letter, counted_micros, duplicate_micros, repeated_click_micros, late_micros, "
        "future_micros, before_start_micros, rows_changed, 0, 0, 0, committed_at, committed_at from registry.batch "
        "where batch_id = 0",
    ),
    "0027": (
        "insert into registry.live_validation (job, version, success, sentence, run_id, first_window) "
        "select job, version, true, 'all is met', 'run-1', '2026-03-10 12:00+00' from registry.job_version",
    ),
    "0030": (
        "insert into registry.finite_program (change_id, program, attempt_id, outcome, ended_at) "
        "select change_id, 'trial', gen_random_uuid(), '{\"ok\": true}', now() from registry.change",
    ),
}
"""revision -> what fills the tables that it made; a table that is empty before the next one fails the test."""
CHANGED: dict[str, frozenset[str]] = {}
"""revision -> views that show something else after it, on purpose."""
BY_THE_CLOCK = {"lag_seconds"}
Shown = dict[str, list[dict[str, Any]]]


def revisions() -> list[str]:
    """All of them, the oldest first."""
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    return [script.revision for script in reversed(list(ScriptDirectory.from_config(config).walk_revisions()))]


@pytest.fixture
def old(parts: Layout) -> Settings:
    """A database of the schema of a221cc5 with rows in every table."""
    settings = replace(parts.settings, database="schema_0006")
    with psycopg.connect(settings.dsn(SUPERUSER, "postgres"), autocommit=True) as connection:
        connection.execute("drop database if exists schema_0006")
    postgres.ensure_roles(settings)
    schema.migrate(settings, OLDEST)
    execute(settings, *FILLED[OLDEST])
    return settings


def execute(settings: Settings, *statements: str, role: str = SUPERUSER) -> list[tuple[Any, ...]]:
    """The rows of the last statement."""
    with psycopg.connect(settings.dsn(role), autocommit=True, options="-c timezone=UTC") as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def shown(settings: Settings, role: str = "kappa_operator") -> Shown:
    """What every view for readers and operators shows, but for what the clock alone decides."""
    views = execute(settings, "select schemaname || '.' || viewname from pg_views where schemaname in "
                              "('serving', 'ops') order by 1")  # fmt: skip
    found: Shown = {}
    for (view,) in views:
        rows = [row for (row,) in execute(settings, f"select to_jsonb(v) from {view} v", role=role)]
        kept = [{name: value for name, value in row.items() if name not in BY_THE_CLOCK} for row in rows]
        found[view] = sorted(kept, key=str)
    return found


def check_same(before: Shown, after: Shown, but: frozenset[str] = frozenset()) -> None:
    """Every view is there, with the rows and columns that it had; it may have got more columns."""
    for view, rows in before.items():
        if view not in but:
            columns = rows[0].keys() if rows else ()
            narrowed = sorted(({name: row[name] for name in columns} for row in after[view]), key=str)
            assert narrowed == rows, view


def empty_tables(settings: Settings) -> list[str]:
    tables = execute(settings, "select schemaname || '.' || tablename from pg_tables where schemaname in "
                               "('registry', 'data', 'reference') order by 1")  # fmt: skip
    return [table for (table,) in tables if not execute(settings, f"select 1 from {table} limit 1")]


def test_each_migration_keeps_what_was_there_and_what_is_shown_of_it(old: Settings) -> None:
    steps = revisions()
    assert steps.index(OLDEST) < len(steps) - 1
    original = before = shown(old)
    for revision in steps[steps.index(OLDEST) + 1 :]:
        assert empty_tables(old) == [], f"FILLED needs a row for each table, else {revision} is tried on nothing"
        schema.migrate(old, revision)
        assert execute(old, "select version_num from alembic_version") == [(revision,)]
        after = shown(old)
        check_same(before, after, CHANGED.get(revision, frozenset()))
        for statement in FILLED.get(revision, ()):
            execute(old, statement)
        before = shown(old)
    for view in ("ops.accounting", "serving.ad_ctr_minute", "serving.client_spend_day", "serving.freshness"):
        assert original[view], view
        check_same({view: original[view]}, before)


def test_a_database_of_a221cc5_is_brought_to_the_newest_schema_in_one_go(old: Settings) -> None:
    """As `up` does it; readers have their rights afterwards, and a second run changes nothing."""
    before = shown(old)
    schema.migrate(old)
    after = shown(old)
    check_same(before, after)
    assert execute(old, "select version_num from alembic_version") == [(revisions()[-1],)]
    schema.migrate(old)
    assert shown(old) == after
    for view in after:
        if view.startswith("serving."):
            assert len(execute(old, f"select * from {view}", role="kappa_reader")) == len(after[view])


def test_the_newest_schema_is_the_same_whether_it_was_reached_over_data_or_empty(old: Settings, parts: Layout) -> None:
    schema.migrate(old)
    assert _columns(old) == _columns(parts.settings)


def _columns(settings: Settings) -> list[tuple[Any, ...]]:
    return execute(
        settings,
        "select table_schema, table_name, column_name, data_type, is_nullable, column_default "
        "from information_schema.columns where table_schema in ('registry', 'reference', 'serving', 'ops') "
        "order by 1, 2, 3",
    )
