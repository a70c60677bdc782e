"""`db migrate`, `db backup` and `db restore` on a real database: what they say, and what the audit keeps of them."""

from __future__ import annotations

import json
import secrets
from datetime import UTC
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from cli.entry import CHECKOUT
from cli.main import application
from kappa.core.refusals import Refusal
from stack.services import passwords
from tests.rigs.case import Case
from tests.rigs.events import events
from tests.rigs.rig import Rig

pytestmark = pytest.mark.rig
NEWEST = max(file.name[:4] for file in (CHECKOUT / "stack" / "migrations").glob("*.sql"))
"""The revision of this code."""


@pytest.fixture
def case(cases: Rig, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A case, which the commands are about."""
    case = cases.case()
    monkeypatch.setenv("KAPPA_HOME", str(case.settings.home))
    return case


@pytest.fixture
def counted(case: Case, rig: Rig) -> Case:
    """The case with numbers in it."""
    case.produce(events(20))
    case.run_until_read()
    return case


def db(*words: str) -> Result:
    """The command."""
    return CliRunner().invoke(application(), ["db", *words])


def test_a_backup_is_made_and_restored_and_the_audit_says_so(counted: Case, tmp_path: Path) -> None:
    case, file = counted, tmp_path / "kappa.backup"
    made = json.loads(db("backup", str(file), "--json").stdout)
    assert made == {"file": str(file), "bytes": file.stat().st_size, "revision": NEWEST}
    before = case.batches()
    case.produce(events(20, 100))
    case.run_until_read()
    told = json.loads(db("restore", str(file), "--reason", "a wrong budget", "--json").stdout)
    assert (told["revision"], told["migrated"]) == (NEWEST, [])
    assert told["jobs"] == [{"job": "ad_ctr", "version": 1, "committed_at": before[-1]["committed_at"].isoformat()}]
    assert case.batches() == before
    (entry,) = case.query("select reason, evidence from registry.audit where action = 'db.restored'")
    assert entry["reason"] == "a wrong budget"
    assert entry["evidence"] == {"file": str(file), "revision": NEWEST, "replaced": told["replaced"]}


def test_people_are_told_where_the_backup_is_and_what_to_do_after_a_restore(
    counted: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, committed_at = tmp_path / "kappa.backup", counted.batches()[-1]["committed_at"].astimezone(UTC)
    monkeypatch.setenv("PGTZ", "Europe/Berlin")
    assert f"{file}: 0.1 MB, revision {NEWEST}" in db("backup", str(file)).stderr
    said = " ".join(db("restore", str(file), "--reason", "tried").stderr.split())
    assert "ad_ctr" in said
    assert f"{committed_at:%Y-%m-%d %H:%M:%S}Z" in said
    assert f"is the database {counted.settings.database}_before_" in said
    assert "./kappa start JOB" in said


def test_a_restore_needs_a_reason(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "kappa.backup"
    db("backup", str(file))
    refused = db("restore", str(file)).exception
    assert isinstance(refused, Refusal)
    assert "db restore needs a reason" in str(refused)


@pytest.mark.usefixtures("case")
def test_a_database_of_the_newest_schema_has_nothing_to_migrate() -> None:
    assert json.loads(db("migrate", "--json").stdout) == {"revision": NEWEST, "dry_run": False, "migrations": []}
    assert f"at revision {NEWEST}, the newest that this code knows: nothing to do" in " ".join(
        db("migrate").stderr.split()
    )


def test_a_new_file_is_a_roles_new_password_once_roles_are_made(case: Case) -> None:
    role, settings = "kappa_reader", case.settings
    line, _, _ = settings.passfile(role).read_text().rpartition(":")
    passwords.write_private(settings.passfile(role), f"{line}:{secrets.token_urlsafe(24)}\n")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(settings.dsn(role))
    assert db("roles").exit_code == 0
    psycopg.connect(settings.dsn(role)).close()
