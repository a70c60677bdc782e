"""A password's file is whole, its owner's alone, on the disk before a server is told of it, and names that server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kappa.core.installation.addresses import Postgres
from kappa.core.installation.settings import ROLES, Settings
from stack.services import passwords
from stack.services.passwords import write_private

ROLE = ROLES[0]


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = list[tuple[bool, list[str]]]()
    names = "word", "word.new"
    monkeypatch.setattr(
        os,
        "fsync",
        lambda handle: kept.append((os.path.isdir(handle), [name for name in names if (tmp_path / name).exists()])),
    )
    write_private(tmp_path / "word", "secret")
    assert kept == [(False, ["word.new"]), (True, ["word"])]
    assert (tmp_path / "word").stat().st_mode & 0o777 == 0o600


def test_passwords_follow_a_postgres_that_gets_another_name(tmp_path: Path) -> None:
    before, after = at("pg", tmp_path), at("pg2", tmp_path)
    passwords.make(before)
    held = {role: passwords.password(before, role) for role in (*ROLES, "airflow", "postgres")}
    passwords.make(after)
    for role, word in held.items():
        assert after.passfile(role).read_text() == f"pg2:*:*:{role}:{word}\n"
        assert after.passfile(role).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("line", "then"),
    [
        ("pg:5432:*:{}:a\\:b", "pg2:*:*:{}:a\\:b"),
        ("pg2:5432:kappa:{}:word", "pg2:*:kappa:{}:word"),
        ("pg:5433:*:{}:word", "pg2:5433:*:{}:word"),
        ("pg2:5433:*:{}:word\n", "pg2:5433:*:{}:word\n"),
        ("*:*:*:{}:word", "*:*:*:{}:word"),
        ("no line of a password file", "no line of a password file"),
    ],
)
def test_of_a_password_file_only_what_would_not_find_the_server_is_corrected(
    line: str, then: str, tmp_path: Path
) -> None:
    settings = at("pg2", tmp_path, 5433)
    file = settings.passfile(ROLE)
    file.parent.mkdir()
    write_private(file, line.format(ROLE))
    written = file.stat().st_ino
    passwords.make(settings)
    assert file.read_text() == then.format(ROLE)
    assert (file.stat().st_ino == written) == (line == then), "another file by the same name, or the same one"


def at(host: str, folder: Path, port: int = 5432) -> Settings:
    return Settings(folder, postgres=Postgres(host=host, port=port))
