"""Each linter runs where its tool is; one that is missing is a line, and no verdict."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from stack.provisioning import linters, providers
from stack.provisioning.providers import COMPOSE, TFLINT

TOOLS = [TFLINT, COMPOSE]
NAMES = ["terraform fmt", "tflint", "checkov", "docker compose config"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with pins and nothing else."""
    shutil.copytree(CHECKOUT / "terraform" / "tools", tmp_path / "checkout" / "terraform" / "tools")
    return tmp_path / "checkout"


def surroundings(folder: Path, **programs: str) -> dict[str, str]:
    """An environment with these programs, given by their scripts."""
    (folder / "bin").mkdir()
    for name, body in programs.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / "bin" / name).chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:{os.defpath}" if programs else str(folder / "bin"), "HOME": str(folder)}


def test_what_is_missing_is_named_and_is_no_fault(
    tmp_path: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert linters.run(checkout, surroundings(tmp_path)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [["NOT RUN", name] for name in NAMES]
    assert "python -m stack.provisioning.linters build" in lines[1]


def test_each_is_asked_about_the_tree_and_what_it_says_is_shown(
    tmp_path: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = f'echo "$(basename "$0") $*" >> {tmp_path}/calls'
    environment = surroundings(
        tmp_path, terraform=told, tflint=f"{told}; echo unused; exit 2", uv=told, docker=f"{told}; [ $2 != config ]"
    )
    assert linters.run(checkout, environment) == 1
    assert capsys.readouterr().out.splitlines() == [
        "terraform fmt: well", "tflint: unused", "", "checkov: well", "docker compose config: well"
    ]  # fmt: skip
    calls = (tmp_path / "calls").read_text().splitlines()
    assert "terraform fmt -check -recursive -diff terraform" in calls
    assert f"tflint --chdir=terraform --recursive --config={checkout}/terraform/.tflint.hcl" in calls
    assert calls[-1] == "docker compose --env-file .env.example --profile * config -q"


def test_a_file_that_checkov_could_not_read_is_a_fault(tmp_path: Path, checkout: Path) -> None:
    said = 'echo "Passed checks: 9, Failed checks: 0, Skipped checks: 0, Parsing errors: 1"'
    assert linters.run(checkout, surroundings(tmp_path, uv=said)) == 1


def test_what_was_built_counts_where_none_is_on_the_path(tmp_path: Path, checkout: Path) -> None:
    environment = surroundings(tmp_path)
    built = {
        tool: tool.file(folder)
        for tool, folder in zip(TOOLS, providers.mirrors(checkout, environment, TOOLS).values(), strict=True)
    }
    for file in built.values():
        file.parent.mkdir(parents=True)
        file.touch()
    found = {check.name: check.command for check in linters.checks(checkout, environment)}
    assert [found[name][0] for name in ("tflint", "docker compose config")] == list(map(str, built.values()))
