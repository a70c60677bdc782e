"""Environments in the shared folder: made of what is installed here, found by what an artifact was built with."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from cli.entry import CHECKOUT
from kappa.code import environments, known_artifacts
from kappa.code.environments import SHARED, EnvironmentBroken, NoEnvironment, distributions, python_of
from kappa.core import environment
from kappa.core.installation.addresses import Spark
from kappa.core.installation.settings import Settings
from tests.plugins.stages import store_apart


def there(home: Path, python: str) -> Settings:
    return replace(Settings(home), spark=Spark(python=python))


def artifact(folder: Path, **other: str) -> Path:
    """An artifact that was built with the present versions, but for these."""
    folder.mkdir(parents=True)
    held: dict[str, Any] = {
        "digest": folder.name,
        "created_at": "2026-07-01T12:00:00+00:00",
        "commit": None,
        "jobs": {},
    }
    held["environment"] = {**environment.present(), **other}
    (folder / "manifest.json").write_text(json.dumps(held))
    return folder


def test_a_path_is_taken_as_it_is_and_without_one_the_python_that_submits(tmp_path: Path) -> None:
    assert python_of(there(tmp_path, "/opt/kappa/bin/python"), tmp_path) == "/opt/kappa/bin/python"
    assert python_of(there(tmp_path, ""), tmp_path) == sys.executable


def test_what_is_packed_is_complete_and_is_found_by_artifacts_of_the_same_versions_only(tmp_path: Path) -> None:
    made, new = environments.pack(tmp_path)
    assert new
    assert environments.pack(tmp_path) == (made, False)
    settings = there(tmp_path, SHARED)
    python = python_of(settings, artifact(settings.artifacts / "same"))
    assert python == str(made / "bin" / "python")
    asked = [python, "-P", "-c", "import jobs.run, jobs.trial, jobs.repartition, pandas; print(pandas.__file__)"]
    search = {"PYTHONPATH": f"{CHECKOUT}:{CHECKOUT / 'plugins'}"}
    said = subprocess.run(asked, env=search, check=True, capture_output=True, text=True).stdout
    assert said.startswith(str(made))
    with pytest.raises(NoEnvironment, match=r"packages of artifact other\..*Nothing was started"):
        python_of(settings, artifact(settings.artifacts / "other", numpy="1.0"))
    assert [folder.name for folder in (tmp_path / "environments").iterdir()] == [made.name], "nothing half made is left"
    shutil.rmtree(made)  # it is large, and the suite's folders lie in memory


def test_what_drivers_import_is_what_the_project_says_they_need() -> None:
    said = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["dependency-groups"]["spark"]
    asked = {(need.name, frozenset(need.extras)) for need in map(Requirement, said)}
    # Of Spark's extra `sql` all is named; time zones are the system's where it has them.
    ours = {(need.name, frozenset(need.extras)) for need in map(Requirement, environments.ROOTS)}
    assert ours - {("tzdata", frozenset[str]())} == {(n, e if n != "pyspark" else frozenset()) for n, e in asked}


def test_what_needs_more_brings_it_along() -> None:
    found = {
        one.metadata["Name"].lower() for one in distributions(["kafka-python[lz4,snappy,zstd]", "psycopg[binary]"])
    }
    assert {"kafka-python", "lz4", "psycopg", "psycopg-binary"} <= found


def test_a_package_that_is_not_installed_here_is_named() -> None:
    with pytest.raises(EnvironmentBroken, match="no-such-package is not installed here"):
        list(distributions(["no-such-package"]))


def test_of_an_artifact_whose_files_are_not_seen_the_manifest_in_the_store_says_which_it_runs_with(
    tmp_path: Path,
) -> None:
    settings = store_apart(there(tmp_path, SHARED), tmp_path)
    artifact(settings.artifacts / "made", numpy="1.0")
    known_artifacts.publish(settings)
    settings.shared.rename(tmp_path / "elsewhere")
    name = environments.name({**environment.present(), "numpy": "1.0"})
    assert python_of(settings, settings.artifacts / "made") == f"{settings.shared}/environments/{name}/bin/python"
