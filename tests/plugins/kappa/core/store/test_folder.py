"""The store in a folder: what the file system fails at says nothing of the files."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from kappa.core.store.folder import Folder
from kappa.core.store.location import StoreAway


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EMFILE])
def test_a_file_that_cannot_be_read_now_is_not_taken_for_damaged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int
) -> None:
    (tmp_path / "0").write_text("v1")

    def fails(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "read_bytes", fails)
    monkeypatch.setattr(os, "listdir", fails)
    with pytest.raises(StoreAway, match=os.strerror(code)):
        Folder().read(str(tmp_path / "0"))
    with pytest.raises(StoreAway, match=os.strerror(code)):
        Folder().names(str(tmp_path))


def test_what_is_not_there_is_no_failure_of_the_store(tmp_path: Path) -> None:
    assert Folder().names(str(tmp_path / "nothing")) == set()
    with pytest.raises(FileNotFoundError):
        Folder().read(str(tmp_path / "nothing"))
    with pytest.raises(IsADirectoryError):
        Folder().read(str(tmp_path))
