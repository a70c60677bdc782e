"""A password's file is whole, its owner's alone, and on the disk before a server is told of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stack.services.passwords import write_private


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
