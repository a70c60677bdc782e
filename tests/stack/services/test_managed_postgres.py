"""Roles, databases and schema on a Postgres whose administrator is no superuser, as a managed one's is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from kappa.core.installation.settings import ROLES, Settings
from stack import schema
from stack.services import passwords, postgres
from stack.waiting import until
from tests.rigs import small_stack

ADMINISTRATOR = "administrator"
PATIENCE_SECONDS = 300.0

pytestmark = pytest.mark.rig


@pytest.fixture
def managed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """A server of its own, whose administrator may make roles and databases, and no more."""
    with small_stack.folder(partitions=1) as layout:
        settings = layout.settings
        for folder in (layout.home, layout.logs, layout.run):
            folder.mkdir(parents=True, exist_ok=True)
        passwords.make(settings)
        postgres.prepare(layout)
        program = postgres.program(layout)
        with (layout.logs / "postgres.log").open("wb") as log:
            server = subprocess.Popen(program.command, cwd=program.directory, user=program.user, stdout=log, stderr=log)
        try:
            assert until(lambda: postgres.healthy(settings), PATIENCE_SECONDS)
            passwords.write_role(settings, ADMINISTRATOR)
            with postgres.superuser(settings) as connection:
                name = sql.Identifier(ADMINISTRATOR)
                connection.execute(sql.SQL("create role {} login createrole createdb").format(name))
                postgres.set_password(connection, ADMINISTRATOR, passwords.password(settings, ADMINISTRATOR))
                connection.execute(sql.SQL("alter database postgres owner to {}").format(name))
            monkeypatch.setattr(postgres, "SUPERUSER", ADMINISTRATOR)
            yield settings
        finally:
            server.terminate()
            server.wait()


def test_who_may_make_roles_and_databases_makes_all_of_them_again_and_again(managed: Settings) -> None:
    for _ in range(2):
        postgres.ensure_roles(managed)
        schema.migrate(managed)
    with psycopg.connect(managed.dsn("kappa_reader"), connect_timeout=5) as connection:
        assert connection.execute("select count(*) from serving.ad_ctr_minute").fetchone() == (0,)
        rows = connection.execute(
            "select rolname from pg_roles where rolname = any(%s) and not (rolsuper or rolcreatedb or rolcreaterole"
            " or rolreplication or rolbypassrls)",
            [[*ROLES, passwords.AIRFLOW_ROLE]],
        ).fetchall()
    assert {name for (name,) in rows} == {*ROLES, passwords.AIRFLOW_ROLE}
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(managed.dsn("kappa_reader", passwords.AIRFLOW_ROLE), connect_timeout=5)
