"""An embedded server is backed up by its own programs, one that wants TLS by those of PATH that can speak with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kappa.core.installation.addresses import Postgres
from kappa.core.installation.settings import Settings
from stack.database import backups, client_programs
from stack.database.client_programs import NoClientProgram
from stack.services import postgres

PROGRAM = """#!/bin/sh
if [ "$1" = --version ]; then
    echo "{name} (PostgreSQL) {version}"
    exit
fi
printf '%s\\n' "$@" >'{folder}/{name}.argv'
env >'{folder}/{name}.env'
for argument; do
    case "$argument" in --file=*) echo dumped >"${{argument#--file=}}" ;; esac
done
"""
Programs = Callable[[str], Path]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An installation whose Postgres, of version 18, is on another host; it is not asked."""
    monkeypatch.setattr(client_programs, "server_major", lambda _: 18)
    return Settings(tmp_path / "state", postgres=Postgres("pg.example.com"))


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Puts programs of a version, which note what they are given, on a PATH that has nothing else."""

    def put(version: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in ("pg_dump", "pg_restore") if version else ():
            (folder / name).write_text(PROGRAM.format(name=name, version=version, folder=folder))
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return folder

    return put


@pytest.mark.parametrize("version", ["18.0", "18.1 (Debian 18.1-1.pgdg12+2)", "19beta1"])
def test_a_backup_over_tls_is_made_by_the_program_of_path_and_no_password_is_said(
    elsewhere: Settings, on_path: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    folder = on_path(version)
    monkeypatch.setenv("PGHOST", "another.example.com")
    file = tmp_path / "kappa.backup"
    assert backups.backup(elsewhere, file) == len("dumped\n")
    argv = (folder / "pg_dump.argv").read_text().splitlines()
    assert argv[0] == "--no-password"
    assert argv[-1] == f"--dbname={elsewhere.dsn('kappa_owner')}"
    assert "sslmode=verify-full" in argv[-1]
    assert f"passfile={elsewhere.passfile('kappa_owner')}" in argv[-1]
    assert "PGHOST" not in (folder / "pg_dump.env").read_text()
    assert not [word for word in (*argv, (folder / "pg_dump.env").read_text()) if "password=" in word.lower()]


def test_a_backup_is_read_over_tls_by_the_program_of_path(
    elsewhere: Settings, on_path: Programs, tmp_path: Path
) -> None:
    folder, file = on_path("18.1"), tmp_path / "kappa.backup"
    file.write_text("no backup")
    with pytest.raises(backups.NotABackup):
        backups.restore(elsewhere, file)
    assert (folder / "pg_restore.argv").read_text().splitlines() == ["--no-password", "--list", str(file)]


@pytest.mark.parametrize(
    ("version", "found"), [("", "on PATH is none"), ("17.9", r"which says 'pg_\w+ \(PostgreSQL\) 17\.9'"),
                           ("of an unknown day", "unknown day")]
)  # fmt: skip
def test_without_a_program_that_is_new_enough_nothing_is_touched(
    elsewhere: Settings, on_path: Programs, tmp_path: Path, version: str, found: str
) -> None:
    folder, file, old = on_path(version), tmp_path / "new.backup", tmp_path / "old.backup"
    old.write_text("a backup")
    before = sorted(tmp_path.rglob("*"))
    for name, act in (("pg_dump", lambda: backups.backup(elsewhere, file)),
                      ("pg_restore", lambda: backups.restore(elsewhere, old))):  # fmt: skip
        with pytest.raises(NoClientProgram, match=rf"{name} must .*{found}.*postgresql-client-18"):
            act()
    assert sorted(tmp_path.rglob("*")) == before
    assert not list(folder.glob("*.argv"))


def test_what_is_found_is_asked_for_the_servers_version(
    elsewhere: Settings, on_path: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path("18.1")
    monkeypatch.setattr(client_programs, "server_major", lambda _: 19)
    with pytest.raises(NoClientProgram, match=r"server's version, 19.*postgresql-client-19"):
        client_programs.find(elsewhere, "pg_dump")


def test_without_tls_the_programs_are_those_of_the_embedded_server(
    elsewhere: Settings, on_path: Programs, tmp_path: Path
) -> None:
    on_path("18.1")
    plain = replace(elsewhere, postgres=Postgres("pg.example.com", sslmode="disable", allow_plain=True))
    for settings in (Settings(tmp_path / "state"), plain):
        assert client_programs.find(settings, "pg_dump") == postgres.binaries() / "pg_dump"
