"""Where there can be no containers the tests that want them say why, in a line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.rigs.containers import engine


def test_what_a_machine_lacks_is_named_with_the_packages_that_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert engine.missing().startswith("SKIPPED: docker-compose.yml was not run: no podman, runc,")
    assert "apt install podman runc" in engine.missing()


def test_an_ordinary_user_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert engine.missing() == "SKIPPED: docker-compose.yml was not run: containers without a Docker daemon need root"
