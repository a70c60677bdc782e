"""The files that an artifact is named by: a program of it looks whether they are still those."""

from __future__ import annotations

from pathlib import Path

import pytest

from kappa.code import artifacts
from kappa.core import artifact_files
from kappa.core.artifact_files import TamperedArtifact
from tests.plugins.fakes import NOON


@pytest.fixture
def built(checkout: Path, tmp_path: Path) -> Path:
    """The folder of an artifact."""
    return artifacts.build(checkout, tmp_path / "built", NOON).folder


def test_an_artifact_as_it_was_built_passes_and_a_checkout_is_not_looked_at(built: Path, checkout: Path) -> None:
    artifact_files.check(built)
    artifact_files.check(checkout)


@pytest.mark.parametrize("name", ["jobs/run.py", "plugins/kappa/core/fates.py"])
def test_one_with_a_changed_file_is_refused(built: Path, name: str) -> None:
    (built / name).chmod(0o644)
    (built / name).write_text("print('another')\n")
    with pytest.raises(TamperedArtifact, match=r"they were changed after the build, so nothing is started from them"):
        artifact_files.check(built)


def test_one_with_a_file_more_or_less_is_refused(built: Path) -> None:
    (built / "jobs" / "more.py").touch()
    with pytest.raises(TamperedArtifact):
        artifact_files.check(built)
    (built / "jobs" / "more.py").unlink()
    artifact_files.check(built)
    (built / "jobs" / "schemas.py").unlink()
    with pytest.raises(TamperedArtifact):
        artifact_files.check(built)
