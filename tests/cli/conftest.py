"""A state folder of the test's own, and the settings of the stack that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from kappa.core.installation.settings import Settings, load


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder that commands find; nothing listens on its ports."""
    (tmp_path / "kappa.toml").write_text("[ports]\npostgres = 1\nairflow = 1\n")
    monkeypatch.setenv("KAPPA_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def settings(home: Path) -> Settings:
    """Its settings."""
    return load(home)
