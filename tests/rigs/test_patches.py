"""The edits of the benches fit the code as it is, and are what they are said to be."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kappa.code import artifacts
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import JOBS
from tests.rigs import patches
from tests.rigs.dangers import ALLOWED, CATALOGUE, DANGERS
from tests.rigs.faults import PATCHES
from tests.rigs.patches import Patch, PatchDoesNotFit

ROOT = Path(__file__).parents[2]
OF_CODE = [danger for danger in DANGERS if danger.file != CATALOGUE]
OF_CATALOGUE = [danger for danger in DANGERS if danger.file == CATALOGUE]
HARMLESS = [ALLOWED, *PATCHES.values()]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    artifacts.copy_sources(ROOT, tmp_path)
    return tmp_path


def test_there_are_seven_dangers() -> None:
    assert len({danger.what for danger in DANGERS}) == 7


@pytest.mark.parametrize("patch", [*DANGERS, *HARMLESS], ids=lambda patch: patch.what)
def test_an_edit_fits_once_and_leaves_python(copy: Path, patch: Patch) -> None:
    before = (copy / patch.file).read_text()
    patch.apply(copy)
    after = (copy / patch.file).read_text()
    assert after != before
    compile(after, patch.file, "exec")


@pytest.mark.parametrize("danger", OF_CODE, ids=lambda danger: danger.what)
def test_a_danger_of_the_code_changes_a_fingerprint(copy: Path, danger: Patch) -> None:
    danger.apply(copy)
    assert artifacts.fingerprint(copy, JOBS["ad_ctr"]) != artifacts.fingerprint(ROOT, JOBS["ad_ctr"])


@pytest.mark.parametrize("patch", HARMLESS, ids=lambda patch: patch.what)
def test_the_allowed_edit_and_the_faults_change_no_fingerprint(copy: Path, patch: Patch) -> None:
    """Else they would be refused before anything is tried."""
    patch.apply(copy)
    assert artifacts.fingerprint(copy, JOBS["ad_ctr"]) == artifacts.fingerprint(ROOT, JOBS["ad_ctr"])


@pytest.mark.parametrize("danger", OF_CATALOGUE, ids=lambda danger: danger.what)
def test_a_danger_of_the_catalogue_is_in_the_artifact_that_the_copy_builds(tmp_path: Path, danger: Patch) -> None:
    settings = Settings(home=tmp_path)
    built = artifacts.find(settings.artifacts, patches.build(settings, danger))
    now = artifacts.build(ROOT, settings.artifacts, datetime.now(UTC))
    assert built.digest != now.digest
    assert built.code("ad_ctr").state_shape != now.code("ad_ctr").state_shape
    differing = {name for name, value in built.code("ad_ctr").parts.items() if now.code("ad_ctr").parts[name] != value}
    assert differing & {"keys", "window"}


def test_an_edit_that_does_not_fit_is_refused(copy: Path) -> None:
    with pytest.raises(PatchDoesNotFit, match=r"fits jobs/run\.py 0 times"):
        Patch("nothing", "jobs/run.py", "not there", "x").apply(copy)
