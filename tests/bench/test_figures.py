"""bench/README.md is one table, and each command in it is a bench of this folder that takes these options."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.entry import CHECKOUT
from kappa.core.spark_environment import search_path

README = (CHECKOUT / "bench" / "README.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in README.splitlines() if line.startswith("|")]
COMMANDS = [row[-1].strip("`").split() for row in ROWS[2:]]

BENCHES = sorted({command[0] for command in COMMANDS})
HELP = """
import contextlib, io, json, runpy, sys, traceback
told = {}
for bench in sys.argv[1:]:
    words = io.StringIO()
    sys.argv = [bench, "--help"]
    with contextlib.redirect_stdout(words), contextlib.redirect_stderr(words):
        try:
            runpy.run_module(bench, run_name="__main__", alter_sys=True)
            code = "it has not ended"
        except SystemExit as ended:
            code = ended.code
        except BaseException:
            traceback.print_exc()
            code = 1
    told[bench] = code, words.getvalue()
print(json.dumps(told))
"""
"""Runs each bench that is named as `python -m BENCH --help` does, all in one process, since each imports the same for a
second; prints how it ended and what it said."""


def _benches() -> set[str]:
    """The modules that are programs, and the folders."""
    programs = {f"bench.{file.stem}" for file in (CHECKOUT / "bench").glob("*.py") if _runs(file)}
    return programs | {f"bench.{file.parent.name}" for file in (CHECKOUT / "bench").glob("*/__main__.py")}


def _runs(file: Path) -> bool:
    return '__name__ == "__main__"' in file.read_text()


def test_it_is_one_table_of_figure_goal_value_and_command() -> None:
    assert ROWS[0] == ["figure", "goal", "newest value", "command"]
    assert all(len(row) == len(ROWS[0]) and all(row) for row in ROWS[2:])


def test_each_bench_has_a_row_and_each_row_a_bench() -> None:
    assert {command[0] for command in COMMANDS} == _benches()


@pytest.fixture(scope="module")
def told() -> dict[str, tuple[object, str]]:
    """How each bench ended that was asked for its options, and its words."""
    done = subprocess.run(
        [sys.executable, "-c", HELP, *BENCHES], cwd=CHECKOUT, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": search_path(CHECKOUT), "COLUMNS": "200", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[object, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("bench", BENCHES)
def test_a_command_of_the_table_exists_and_takes_its_options(bench: str, told: dict[str, tuple[object, str]]) -> None:
    code, words = told[bench]
    assert code == 0, words
    asked = {word for command in COMMANDS if command[0] == bench for word in command if word.startswith("--")}
    assert asked <= set(re.findall(r"--[a-z-]+", words))


def test_a_bench_imports_nothing_of_the_tests() -> None:
    files = (CHECKOUT / "bench").rglob("*.py")
    assert [file.name for file in files if re.search(r"^(from|import) tests\b", file.read_text(), re.M)] == []
