"""`db` where Postgres is away, or where a backup cannot lie: what is wrong and what to do, in a few words."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.commands.db import db
from kappa.unavailable import Unreachable
from stack.database.backups import NoBackupWritten
from tests.rigs.small_stack import free_ports


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a Postgres that nobody has started."""
    (port,) = free_ports(1)
    (tmp_path / "kappa.toml").write_text(f"[ports]\npostgres = {port}\n")
    monkeypatch.setenv("KAPPA_SETTINGS", str(tmp_path / "kappa.toml"))
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "state"))
    return f"127.0.0.1:{port}"


@pytest.mark.parametrize("words", [["roles"], ["migrate"], ["migrate", "--dry-run"]])
def test_a_postgres_that_is_away_is_named_with_the_next_command(away: str, words: list[str]) -> None:
    refused = CliRunner().invoke(db, words).exception
    assert isinstance(refused, Unreachable)
    assert f"Postgres at {away} does not answer" in str(refused)


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize("folder", ["missing", "kappa.toml"])
def test_a_backup_where_no_file_can_be_made_is_refused_with_the_reason(tmp_path: Path, folder: str) -> None:
    file = tmp_path / folder / "kappa.backup"
    refused = CliRunner().invoke(db, ["backup", str(file)]).exception
    assert isinstance(refused, NoBackupWritten)
    assert f"{file} cannot be written: " in str(refused)
