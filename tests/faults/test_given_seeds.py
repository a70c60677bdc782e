"""A test with a seed runs with one that nobody chose, or with those that are given; its name says which."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = "def test_it(seed): ...\n\ndef test_other(seed): ...\n\ndef test_without(): ...\n"


def collected(folder: Path, *options: str) -> list[str]:
    """The names of the tests of a file of its own, by this project's rules."""
    (folder / "conftest.py").write_text("from tests.seeds import pytest_addoption, pytest_generate_tests\n")
    (folder / "test_one.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options, str(folder)]
    done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.split("::")[1] for line in done.stdout.splitlines() if "::" in line]


def test_seeds_that_are_given_are_the_ones_that_run(tmp_path: Path) -> None:
    names = [f"{name}[seed {seed}]" for name in ("test_it", "test_other") for seed in (7, 123)]
    assert collected(tmp_path, "--seed", "7", "--seed", "123") == [*names, "test_without"]


def test_without_one_a_seed_is_drawn_and_named(tmp_path: Path) -> None:
    first, second, _ = collected(tmp_path)
    assert first.startswith("test_it[seed ")
    assert first.removeprefix("test_it") != second.removeprefix("test_other")
