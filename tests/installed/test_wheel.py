"""The wheel: one name in site-packages, and a command that works where no checkout is."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kappa.code import artifacts

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = ("cli", "dags", "examples", "great_expectations", "jobs", "oracle", "plugins", "stack", "traffic")
CACHES = {"__pycache__", ".mypy_cache", ".ruff_cache"}


@dataclass(frozen=True)
class Installed:
    """A wheel in an environment of its own, which sees the packages of this one."""

    environment: Path
    user: Path

    @property
    def checkout(self) -> Path:
        """What of a checkout the wheel brings."""
        return next(self.environment.glob("lib/python*/site-packages/kappa/checkout"))

    def run(self, *words: str, given: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """The command, run from an empty folder by a user whose home is empty, too."""
        folder = self.user / "here"
        folder.mkdir(parents=True, exist_ok=True)
        return subprocess.run(
            [self.environment / "bin" / "kappa", *words], cwd=folder, capture_output=True, text=True, timeout=50,
            env={"PATH": os.defpath, "HOME": str(self.user), **(given or {})}, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=CHECKOUT, check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "outer.pth").write_text("\n".join(site.getsitepackages()))
    own = CHECKOUT / ".kappa" / "uv" / "bin" / "uv"
    uv = str(own) if own.exists() else shutil.which("uv")
    assert uv, "uv is neither in .kappa/uv nor on PATH; './kappa' puts it there"
    command = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(folder), str(wheel)]
    subprocess.run(command, check=True)
    return folder


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

    assert files(installed.checkout) == files(CHECKOUT)


def test_an_installed_command_shows_its_help_where_there_is_nothing(installed: Installed) -> None:
    shown = installed.run("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Usage: kappa [OPTIONS] COMMAND" in shown.stdout
    assert [path.name for path in installed.user.iterdir()] == ["here"]


def test_an_installed_command_builds_the_artifact_of_a_checkout_in_the_users_folder(installed: Installed) -> None:
    before = {file for file in installed.checkout.rglob("*") if "__pycache__" not in file.parts}
    built = installed.run("build")
    assert built.returncode == 0, built.stderr
    (folder,) = (installed.user / ".local" / "state" / "kappa" / "stack" / "artifacts").iterdir()
    assert folder.name == artifacts.checkout_digest(CHECKOUT)
    assert {file for file in installed.checkout.rglob("*") if "__pycache__" not in file.parts} == before


def test_another_state_folder_is_named_as_in_a_checkout(installed: Installed, tmp_path: Path) -> None:
    assert installed.run("build", given={"KAPPA_HOME": str(tmp_path / "other")}).returncode == 0
    assert len([*(tmp_path / "other" / "artifacts").iterdir()]) == 1
