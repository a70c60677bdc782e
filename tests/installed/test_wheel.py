"""The wheel: one name in site-packages, and a command that works where no checkout is."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kappa.code import artifacts
from tests.rigs import wheel as built
from tests.rigs.wheel import CHECKOUT

FOLDERS = (
    "cli", "dags", "examples", "great_expectations", "jobs", "oracle", "plugins", "stack", "terraform", "traffic",
)  # fmt: skip
CACHES = {"__pycache__", ".mypy_cache", ".ruff_cache"}


@dataclass(frozen=True)
class Installed:
    """A wheel in an environment of its own, which sees the packages of this one."""

    environment: Path
    user: Path

    @property
    def checkout(self) -> Path:
        """What of a checkout the wheel brings."""
        return built.checkout(self.environment)

    def run(self, *words: str, given: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """The command, run from an empty folder by a user whose home is empty, too."""
        folder = self.user / "here"
        folder.mkdir(parents=True, exist_ok=True)
        return subprocess.run(
            [self.environment / "bin" / "kappa", *words], cwd=folder, capture_output=True, text=True, timeout=300,
            env={"PATH": os.defpath, "HOME": str(self.user), **(given or {})}, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built.environment(wheel, tmp_path_factory.mktemp("environment"))


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Installed:
    return Installed(environment, tmp_path / "user")


def test_a_wheel_puts_one_name_into_site_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        top = {name.split("/")[0] for name in archive.namelist()}
    assert {name for name in top if not name.endswith((".dist-info", ".data"))} == {"kappa"}


def test_a_wheel_has_every_file_of_the_folders_that_run(installed: Installed) -> None:
    def files(root: Path) -> set[Path]:
        found = (file for folder in FOLDERS for file in (root / folder).rglob("*") if file.is_file())
        return {file.relative_to(root) for file in found if not CACHES & set(file.parts)}

    assert files(installed.checkout) == files(CHECKOUT) - {Path("plugins/kappa_plugin.py")}


def test_an_airflow_beside_the_wheel_finds_its_one_plugin(installed: Installed) -> None:
    """By its entry point, at the place where all modules of the wheel are; the file for plugins folders is left out, so
    that an Airflow which is given both does not have it twice."""
    script = (
        "from importlib.metadata import entry_points; import kappa; [one] = entry_points(group='airflow.plugins', "
        "name='kappa'); found = one.load(); import kappa.airflow.plugin as module; "
        "print(found.name, module.KappaPlugin is found, module.__file__, kappa.CHECKOUT / 'dags')"
    )
    said = subprocess.run(
        [installed.environment / "bin" / "python", "-P", "-c", script], capture_output=True, text=True, timeout=300,
        env={"PATH": os.defpath, "HOME": str(installed.user), "AIRFLOW_HOME": str(installed.user)}, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    name, same, file, dags = said.stdout.split()
    assert (name, same) == ("kappa", "True")
    assert Path(file) == installed.checkout / "plugins" / "kappa" / "airflow" / "plugin.py"
    assert (Path(dags) / "check_installation.py").exists()


@pytest.mark.long(minutes=1)
def test_a_bare_airflow_with_the_wheel_lists_the_plugin_and_all_dags(installed: Installed) -> None:
    dags = installed.checkout / "dags"
    bundle = [{"name": "kappa", "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
               "kwargs": {"path": str(dags)}}]  # fmt: skip
    home = installed.user / "airflow"
    home.mkdir(parents=True)
    surroundings = {
        "PATH": os.defpath, "HOME": str(installed.user), "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundle),
    }  # fmt: skip

    def airflow(*words: str) -> str:
        """The last line that a command of Airflow prints; before it are warnings."""
        command = [str(installed.environment / "bin" / "python"), "-P", "-m", "airflow", *words]
        done = subprocess.run(command, env=surroundings, cwd=home, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return ["", *done.stdout.splitlines()][-1]

    airflow("db", "migrate")
    plugins = json.loads(airflow("plugins", "--output", "json"))
    assert [one["name"] for one in plugins if "kappa" in str(one)] == ["kappa"]
    listed = {
        one["dag_id"]
        for one in json.loads(airflow("dags", "list", "--local", "--bundle-name", "kappa", "--output", "json"))
    }
    assert listed == {file.stem for file in dags.glob("*.py")}


def test_an_installed_command_shows_its_help_where_there_is_nothing(installed: Installed) -> None:
    shown = installed.run("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Usage: kappa [OPTIONS] COMMAND" in shown.stdout
    assert [path.name for path in installed.user.iterdir()] == ["here"]


def test_an_installed_command_builds_the_artifact_of_a_checkout_in_the_users_folder(installed: Installed) -> None:
    before = {file for file in installed.checkout.rglob("*") if "__pycache__" not in file.parts}
    done = installed.run("build")
    assert done.returncode == 0, done.stderr
    (folder,) = (installed.user / ".local" / "state" / "kappa" / "stack" / "artifacts").iterdir()
    assert folder.name == artifacts.checkout_digest(CHECKOUT)
    assert {file for file in installed.checkout.rglob("*") if "__pycache__" not in file.parts} == before


def test_another_state_folder_is_named_as_in_a_checkout(installed: Installed, tmp_path: Path) -> None:
    assert installed.run("build", given={"KAPPA_HOME": str(tmp_path / "other")}).returncode == 0
    assert len([*(tmp_path / "other" / "artifacts").iterdir()]) == 1
