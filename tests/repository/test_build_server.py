"""The build server has what tests of `terraform/` need, or says in one line what it leaves out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from cli.entry import CHECKOUT

TOLD = """#!/bin/sh
echo "{name} $*" >> "{folder}/calls"
{then}
"""
BUILT = ["python -P -m stack.provisioning.providers", "python -P -m stack.provisioning.linters build"]


def checkout(folder: Path, python: str = "") -> Path:
    """A checkout whose command and whose Python only note down how they were called."""
    for name, then in (("kappa", ""), (".venv/bin/python", python)):
        program(folder / name, folder, then)
    (folder / ".ci").mkdir()
    shutil.copy(CHECKOUT / ".ci" / "run", folder / ".ci")
    return folder


def program(file: Path, folder: Path, then: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(TOLD.format(name=file.name, folder=folder, then=then))
    file.chmod(0o755)


def build(folder: Path, *programs: str) -> tuple[list[str], list[str]]:
    """What was called, and what was said, where these programs are."""
    for name in programs:
        program(folder / "bin" / name, folder)
    for name in ("sh", "dirname", "timeout"):
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / name).symlink_to(str(shutil.which(name)))
    surroundings = {**os.environ, "PATH": str(folder / "bin")}
    done = subprocess.run([folder / ".ci" / "run", "--long"], env=surroundings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "calls").read_text().splitlines(), done.stderr.splitlines()


def test_what_tests_of_terraform_need_is_built_before_them(tmp_path: Path) -> None:
    called, said = build(checkout(tmp_path), "terraform")
    assert called == ["kappa --help", *BUILT, "kappa test --long"]
    assert said == []


def test_without_terraform_it_is_one_line_and_the_rest_is_run(tmp_path: Path) -> None:
    called, said = build(checkout(tmp_path))
    assert called == ["kappa --help", *BUILT, "kappa test --long"]
    assert said == ["NOT RUN: there is no 'terraform' on the PATH: all tests that run it"]


def test_what_cannot_be_built_is_a_line_and_the_rest_is_run(tmp_path: Path) -> None:
    called, said = build(checkout(tmp_path, python="echo 'there is no go' >&2; exit 1"), "terraform")
    assert called == ["kappa --help", *BUILT, "kappa test --long"]
    assert said == [
        "there is no go",
        "NOT RUN: Terraform's providers are not built: all tests that need them",
        "there is no go",
        "NOT RUN: tflint or docker compose is not built: what it would say",
    ]


def test_who_builds_without_go_is_told_in_one_line(tmp_path: Path) -> None:
    surroundings = {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "plugins")]), "HOME": str(tmp_path),
                    "PATH": str(tmp_path)}  # fmt: skip
    for words in (["stack.provisioning.providers"], ["stack.provisioning.linters", "build"]):
        command = [sys.executable, "-P", "-m", *words]
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert "there is no 'go' on the PATH" in line


def test_the_workflow_brings_what_is_left_out_without_it() -> None:
    text = (CHECKOUT / ".github" / "workflows" / "test.yml").read_text()
    steps = re.findall(r"uses: ([\w/-]+)@", text)
    assert {"actions/setup-python", "actions/setup-java", "actions/setup-go", "hashicorp/setup-terraform"} <= set(steps)
    assert "terraform_wrapper: false" in text, "the wrapper's words are none of Terraform's"
    assert text.index("setup-terraform") < text.index("run: .ci/run")
    newest = max((CHECKOUT / "terraform" / "tools").glob("*/go.mod"), key=go)
    assert f"go-version-file: {newest.relative_to(CHECKOUT)}" in text


def test_pages_are_looked_at_in_a_browser_or_it_says_that_there_is_none(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    shutil.copy(CHECKOUT / ".ci" / "browser", root / ".ci")
    program(root / ".kappa" / "uv" / "bin" / "uv", root)
    for name in ("sh", "dirname", "mkdir"):
        (root / "bin").mkdir(exist_ok=True)
        (root / "bin" / name).symlink_to(str(shutil.which(name)))
    command, pictures = [str(root / ".ci" / "browser"), "-x"], root / "pictures"
    surroundings = {"PATH": str(root / "bin"), "KAPPA_PICTURES": str(pictures)}
    without = subprocess.run(command, env=surroundings, capture_output=True, text=True)
    assert (without.returncode, (root / "calls").exists()) == (2, False)
    assert "apt-get install chromium" in without.stderr
    program(root / "bin" / "google-chrome", root)
    subprocess.run(command, env=surroundings, check=True)
    called = (root / "calls").read_text().splitlines()
    assert [line.split()[0] for line in called] == ["kappa", "uv", "python"]
    assert called[-1] == "python -P -m pytest -m long tests/plugins/kappa/console tests/plugins/kappa/airflow -x"
    assert pictures.is_dir()


def go(file: Path) -> tuple[int, ...]:
    """The version of Go that a module asks for."""
    (said,) = re.findall(r"^go ([\d.]+)$", file.read_text(), re.M)
    return tuple(map(int, said.split(".")))
