"""The database is backed up while it is in use, and a backup takes its place whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from kappa.core.installation.settings import Settings
from stack import schema
from stack.database import backups
from stack.database.client_programs import ToolFailed
from stack.layout import Layout
from stack.services import postgres
from stack.services.passwords import SUPERUSER
from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig

SHAPE = """
select c.oid::regclass::text, c.relkind::text, pg_get_userbyid(c.relowner), c.relacl::text
from pg_class c where relnamespace::regnamespace::text in ('registry', 'data', 'reference', 'serving', 'ops')
order by 1"""
TABLES = """
select quote_ident(schemaname) || '.' || quote_ident(tablename) from pg_tables
where schemaname in ('registry', 'data', 'reference') order by 1"""


@pytest.fixture
def case(rig: Rig) -> Case:
    """A case with numbers in it; its driver has ended."""
    case = rig.case()
    case.produce(events(30))
    case.run_until_read()
    return case


@pytest.fixture
def empty(parts: Layout) -> Iterator[Settings]:
    """A database of the schema before the newest."""
    settings = replace(parts.settings, database="before_the_newest")
    postgres.ensure_roles(settings)
    schema.migrate(settings, "0016")
    yield settings
    for name in databases(settings):
        _server(settings, "drop database {} with (force)", name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a backup goes."""
    return tmp_path / "kappa.backup"


def _server(settings: Settings, statement: str, *names: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(settings.dsn(SUPERUSER, "postgres"), autocommit=True) as connection:
        cursor = connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
        return cursor.fetchall() if cursor.description else []


def databases(settings: Settings) -> set[str]:
    """Those of the server whose name begins with the database's."""
    return {name for (name,) in _server(settings, "select datname from pg_database")
            if name.startswith(settings.database)}  # fmt: skip


def content(settings: Settings) -> dict[str, Any]:
    """All that the database holds: each object with owner and rights, each table's rows."""
    with psycopg.connect(settings.dsn(SUPERUSER)) as connection:
        tables = [name for (name,) in connection.execute(TABLES)]
        rows = {name: sorted(map(repr, connection.execute(f"select t::text from {name} t"))) for name in tables}
        return {"shape": connection.execute(SHAPE).fetchall(), **rows}


def test_what_came_back_is_what_was_there_and_what_was_there_meanwhile_is_kept(case: Case, file: Path) -> None:
    before = content(case.settings)
    assert before["registry.batch"]
    assert before["data.ad_ctr_minute"]
    size = backups.backup(case.settings, file)
    assert size == file.stat().st_size
    assert file.stat().st_mode & 0o077 == 0
    case.produce(events(30, 100))
    case.run_until_read()
    after = content(case.settings)
    assert after["registry.batch"] != before["registry.batch"]
    found = backups.restore(case.settings, file)
    assert content(case.settings) == before
    assert content(replace(case.settings, database=found.replaced)) == after
    assert databases(case.settings) == {case.settings.database, found.replaced}
    assert found.migrated == ()
    with psycopg.connect(case.settings.dsn("kappa_reader")) as reader:
        assert reader.execute("select sum(impressions) from serving.ad_ctr_minute").fetchone() is not None


def test_a_backup_is_of_one_moment_while_a_driver_writes_and_never_replaces_a_file(case: Case, file: Path) -> None:
    with case.driver() as driver:
        case.produce(events(200, 1000))
        backups.backup(case.settings, file)
        driver.await_read()
    with pytest.raises(backups.BackupExists, match=re.escape(f"{file} exists")):
        backups.backup(case.settings, file)
    backups.restore(case.settings, file)
    (told,) = case.query("select read, counted + duplicate + repeated_click + late + future + before_start as fates, "
                         "(select sum(next_offset) from ops.progress) as offsets from ops.accounting")  # fmt: skip
    assert told["read"] == told["fates"] == told["offsets"]
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_database_that_is_in_use_is_not_replaced(case: Case, file: Path) -> None:
    backups.backup(case.settings, file)
    with case.driver() as driver:
        driver.until("it has started", lambda: bool(case.query("select 1 from registry.driver_start offset 1")))
        with pytest.raises(backups.StillInUse, match=r"ad_ctr v1 runs.*kappa stop JOB"):
            backups.restore(case.settings, file)
    case.query("insert into registry.lease (job, version, run_id, verb, actor, ends_at) "
               "values ('ad_ctr', 1, 'r', 'rescale', 'somebody', now() + interval '1 minute')")  # fmt: skip
    with pytest.raises(backups.StillInUse, match="rescale acts on ad_ctr"):
        backups.restore(case.settings, file)
    case.query("delete from registry.lease")
    with psycopg.connect(case.settings.dsn("kappa_writer")), pytest.raises(backups.StillInUse, match="kappa_writer"):
        backups.restore(case.settings, file)
    assert databases(case.settings) == {case.settings.database}


def test_a_file_that_is_cut_or_something_else_changes_nothing(case: Case, file: Path, tmp_path: Path) -> None:
    before = content(case.settings)
    backups.backup(case.settings, file)
    cut = tmp_path / "cut"
    cut.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ToolFailed, match=r"pg_restore failed: .*\. The database is as it was\."):
        backups.restore(case.settings, cut)
    text = tmp_path / "text"
    text.write_text("select 1;")
    with pytest.raises(backups.NotABackup, match="text is no backup"):
        backups.restore(case.settings, text)
    assert databases(case.settings) == {case.settings.database}
    assert content(case.settings) == before


def test_a_backup_of_an_older_schema_is_migrated(empty: Settings, file: Path) -> None:
    backups.backup(empty, file)
    missing = schema.pending(empty)
    assert missing[0] == "0017"
    assert schema.migrate(empty) == missing
    found = backups.restore(empty, file)
    assert (found.revision, found.migrated) == ("0016", missing)
    assert schema.pending(empty) == ()


def test_a_database_that_a_killed_restore_left_closed_is_open_again_after_a_start(empty: Settings) -> None:
    _server(empty, "alter database {} with allow_connections false", empty.database)
    postgres.ensure_roles(empty)
    psycopg.connect(empty.dsn("kappa_reader")).close()


def test_a_database_that_newer_code_has_migrated_is_left_alone(empty: Settings) -> None:
    with psycopg.connect(empty.dsn(SUPERUSER)) as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    for act in (schema.migrate, schema.pending):
        with pytest.raises(schema.DatabaseNewer, match=r"at revision 9999.*none after \d+"):
            act(empty)
