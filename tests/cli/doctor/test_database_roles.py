"""Each role's trial on a real Postgres: whole, and broken in one way after the other."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from cli.doctor import database_roles
from cli.doctor.trial import carry_out
from kappa.core.installation.addresses import Places
from kappa.core.installation.findings import Finding
from kappa.core.installation.settings import Settings
from tests.rigs.case import Case
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig


@pytest.fixture(scope="module")
def case(cases: Rig) -> Case:
    """A database of this module's own."""
    return cases.case()


def found(settings: Settings) -> dict[str, Finding]:
    tried = [carry_out(trial) for trial in database_roles.trials(settings)]
    assert len(tried) == 7
    return {one.what: one.finding for one in tried if one.finding}


@contextmanager
def done(case: Case, role: str, statement: str, undo: str) -> Iterator[None]:
    with psycopg.connect(case.settings.dsn(role), autocommit=True) as connection:
        connection.execute(statement)
        try:
            yield
        finally:
            connection.execute(undo)


def test_of_a_whole_database_nothing_is_said(case: Case) -> None:
    assert found(case.settings) == {}


def test_a_right_that_a_role_lacks_is_named_with_the_grant_that_gives_it(case: Case) -> None:
    words = "insert on registry.batch"
    with done(case, "kappa_owner", f"revoke {words} from kappa_writer", f"grant {words} to kappa_writer"):
        finding = found(case.settings)
    assert list(finding) == ["role kappa_writer"]
    assert finding["role kappa_writer"].wrong == "kappa_writer may not INSERT registry.batch"
    assert finding["role kappa_writer"].remedy == "As kappa_owner: GRANT INSERT ON registry.batch TO kappa_writer;"


def test_a_schema_that_a_role_may_not_use_is_named_and_all_other_trials_go_on(case: Case) -> None:
    words = "usage on schema registry"
    with done(case, "kappa_owner", f"revoke {words} from kappa_writer", f"grant {words} to kappa_writer"):
        finding = found(case.settings)
    assert list(finding) == ["role kappa_writer"]
    assert finding["role kappa_writer"].wrong == "kappa_writer may not use schema registry"
    assert finding["role kappa_writer"].remedy == "As kappa_owner: GRANT USAGE ON SCHEMA registry TO kappa_writer;"


def test_a_schema_that_is_not_there_is_named(case: Case) -> None:
    with done(case, "kappa_owner", "alter schema registry rename to away", "alter schema away rename to registry"):
        finding = found(case.settings)
    assert finding["role kappa_writer"].wrong == "there is no schema registry"
    assert finding["role kappa_writer"].remedy == "'./kappa db migrate' makes it."


def test_what_the_owner_may_not_read_of_the_revision_is_said_as_postgres_says_it(case: Case) -> None:
    words = "select on alembic_version"
    with done(case, "kappa_owner", f"revoke {words} from kappa_owner", f"grant {words} to kappa_owner"):
        finding = found(case.settings)
    assert list(finding) == ["schema"]
    assert finding["schema"].wrong == "permission denied for table alembic_version"


def test_a_superuser_is_named(case: Case) -> None:
    with done(case, "postgres", "alter role kappa_reader superuser", "alter role kappa_reader nosuperuser"):
        finding = found(case.settings)
    assert list(finding) == ["role kappa_reader"]
    assert "NOSUPERUSER" in finding["role kappa_reader"].remedy


def test_a_schema_that_is_behind_is_named_with_what_it_lacks(case: Case) -> None:
    newest = "select version_num from public.alembic_version"
    with psycopg.connect(case.settings.dsn("kappa_owner")) as connection:
        schema = connection.execute("select schemaname from pg_tables where tablename = 'alembic_version'").fetchone()
        assert schema is not None
        table = f"{schema[0]}.alembic_version"
        row = connection.execute(newest.replace("public.alembic_version", table)).fetchone()
    assert row is not None
    back = f"update {table} set version_num = '{int(row[0]) - 1:04d}'"
    with done(case, "kappa_owner", back, f"update {table} set version_num = '{row[0]}'"):
        finding = found(case.settings)
    assert list(finding) == ["schema"]
    assert f"lacks {row[0]}" in finding["schema"].wrong
    assert "./kappa db migrate" in finding["schema"].remedy


def test_a_wrong_password_is_named_in_libpqs_words(case: Case, tmp_path: Path) -> None:
    for file in case.settings.secrets.iterdir():
        (tmp_path / file.name).write_text(file.read_text())
        (tmp_path / file.name).chmod(0o600)
    (tmp_path / "kappa_reader.pgpass").write_text("127.0.0.1:*:*:kappa_reader:wrong\n")
    finding = found(replace(case.settings, places=Places(secrets=str(tmp_path))))
    assert "role kappa_reader" in finding
    assert "password authentication failed" in finding["role kappa_reader"].wrong
    assert "role kappa_writer" not in finding


def test_where_nobody_listens_every_role_is_told_so(case: Case) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    finding = found(replace(case.settings, ports=replace(case.settings.ports, postgres=port)))
    assert len(finding) == 7
    assert f"127.0.0.1:{port} does not answer" in finding["role kappa_owner"].wrong


def test_a_server_that_is_too_old_and_a_clock_that_is_off_are_named(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_roles, "OLDEST", 99)
    monkeypatch.setattr(database_roles, "CLOCK_SECONDS", -1.0)
    finding = found(case.settings)
    assert "needs Postgres 99" in finding["role kappa_owner"].remedy
    assert "NTP" in finding["clock"].remedy
