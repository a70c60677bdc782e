"""The packages that decide numbers besides the code: a driver runs among those that its artifact was built with."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from unittest.mock import Mock

import pytest

from jobs import outcome, run
from kappa.code import artifacts
from kappa.core import artifact_files, environment
from kappa.core.environment import OtherEnvironment
from kappa.core.installation.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


def artifact(folder: Path, **other: str) -> Path:
    """An artifact whose manifest names the present environment, but for these versions."""
    versions = {**environment.present(), **other}
    held = {"environment": versions, "digest": artifact_files.name(folder, versions)}
    (folder / "manifest.json").write_text(json.dumps(held))
    return folder


def test_what_decides_numbers_is_named_with_its_version() -> None:
    there = environment.present()
    assert list(there) == ["python", "pyspark", "msgspec", "pyarrow", "numpy", "tzdata"]
    assert there["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert there["pyspark"].count(".") == 2


def test_the_environment_of_the_build_passes(tmp_path: Path) -> None:
    environment.check(artifact(tmp_path))


def test_another_environment_is_refused_with_what_differs_and_the_remedies(tmp_path: Path) -> None:
    with pytest.raises(OtherEnvironment) as refused:
        environment.check(artifact(tmp_path, pyspark="4.1.9", msgspec="0.1"))
    said = str(refused.value)
    there = environment.present()
    assert f"pyspark  4.1.9       {there['pyspark']}" in said
    assert f"msgspec  0.1         {there['msgspec']}" in said
    assert "pyarrow" not in said
    assert "./kappa build" in said
    assert "./kappa reprocess" in said


def test_a_checkout_without_a_manifest_and_an_artifact_that_names_none_are_not_checked(tmp_path: Path) -> None:
    environment.check(tmp_path)
    (tmp_path / "manifest.json").write_text('{"digest": "a", "jobs": {}}')
    environment.check(tmp_path)


def test_a_driver_says_so_before_it_takes_its_version_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "OWN_CODE", artifact(tmp_path, pyspark="4.1.9"))
    registry = Mock()
    assert run._supervised(Settings(home=tmp_path), registry, Namespace(launch="launch-1"), "driver-1") == 0
    assert not registry.take_over.called
    launch, submission, reason = registry.fail.call_args.args
    assert (launch, submission) == ("launch-1", "driver-1")
    assert "pyspark  4.1.9" in reason


def test_a_driver_whose_code_was_changed_since_does_not_take_its_version_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who deployed it need not have seen its files; and it is started again whenever it ended."""
    monkeypatch.setattr(environment, "OWN_CODE", artifact(tmp_path))
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "more.py").touch()
    registry = Mock()
    assert run._supervised(Settings(home=tmp_path), registry, Namespace(launch="launch-1"), "driver-1") == 0
    assert not registry.take_over.called
    assert "they were changed after the build" in registry.fail.call_args.args[2]


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """An artifact of the project's own code that was built with another Spark."""
    artifacts.copy_sources(ROOT, tmp_path)
    return artifact(tmp_path, pyspark="4.1.9")


def test_a_finite_program_refuses_before_it_acts(foreign: Path, tmp_path: Path) -> None:
    code = (
        "import json, sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/plugins']\n"
        "from pathlib import Path\n"
        "from jobs import outcome\nfrom kappa.core.changes import Outcome\n"
        "leave = lambda left: Path('left.json').write_text(json.dumps(left.to_json()))\n"
        "sys.exit(outcome.carry_out(leave, lambda: Outcome('it acted', {})))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, foreign], cwd=tmp_path, check=False)
    held = json.loads((tmp_path / "left.json").read_text())
    assert ran.returncode == outcome.Exit.REFUSED
    assert "pyspark  4.1.9" in held["sentence"]
    assert held["evidence"] == {"refusal": "OtherEnvironment"}
