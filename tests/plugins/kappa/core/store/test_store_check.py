"""A store is tried before anything relies on it: each part that fails is named, with a remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kappa.core.store.check import check
from kappa.core.store.folder import Folder
from kappa.core.store.location import StoreAway
from kappa.core.store.places import at


def _deny(*_: Any) -> None:
    raise PermissionError("access denied")


def _away(*_: Any) -> None:
    raise StoreAway("s3a://bucket/a", "connection refused")


def _overwrite(_store: Folder, key: str, data: bytes) -> None:
    Folder().write(key, data)


def _do_nothing(*_: Any) -> None:
    """A store that says yes and does nothing."""


def test_a_store_that_does_all_has_no_finding_and_nothing_of_the_trial_is_left(tmp_path: Path) -> None:
    assert check(at(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("call", "does", "part", "wrong"),
    [
        ("create", _deny, "put", "access denied"),
        ("create", _away, "put", "connection refused"),
        ("names", lambda *_: set(), "list", "should be {'put'}"),
        ("create", _overwrite, "conditional put", "was taken"),
        ("copy", _deny, "copy", "access denied"),
        ("delete", _do_nothing, "delete", "should be {}"),
    ],
)
def test_what_a_store_does_not_do_is_the_one_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, does: Callable[..., Any], part: str, wrong: str
) -> None:
    monkeypatch.setattr(Folder, call, does)
    (finding,) = check(at(tmp_path))
    assert finding.part == f"{part} in {tmp_path}"
    assert wrong in finding.wrong
    assert finding.remedy


def test_what_cannot_be_read_is_told_by_each_part_that_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Folder, "read", _deny)
    assert [finding.part.split(" in ")[0] for finding in check(at(tmp_path))] == ["read", "conditional put", "copy"]
