"""No file and no folder of code is so large that a reader loses the thread."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES, MOST_MODULES = 250, 15
LONGER = {"bench": "a module for each figure", "stack/migrations/versions": "a module for each migration"}
"""Folders outside tests/ that hold more modules, and why; tests are as many as there are rules."""


def modules() -> list[Path]:
    """Every module of the repository, from its root on."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [Path(line) for line in listed.splitlines() if (ROOT / line).exists()]


def too_long(lengths: dict[str, int]) -> dict[str, int]:
    """The files that have more lines than may be."""
    return {name: length for name, length in lengths.items() if length > MOST_LINES}


def too_full(found: list[Path]) -> dict[str, int]:
    """The folders that hold more modules than may be, packages' own files apart."""
    counted = Counter(str(file.parent) for file in found if file.name != "__init__.py" and file.parts[0] != "tests")
    return {folder: number for folder, number in counted.items() if number > MOST_MODULES}


def test_a_file_has_so_many_lines_at_most() -> None:
    assert too_long({str(file): len((ROOT / file).read_text().splitlines()) for file in modules()}) == {}


def test_a_folder_has_so_many_modules_at_most() -> None:
    assert too_full(modules()).keys() == LONGER.keys()


def test_what_is_too_large_is_found() -> None:
    assert too_long({"a.py": 250, "b.py": 251}) == {"b.py": 251}
    many = [Path(f"a/m{number}.py") for number in range(MOST_MODULES)]
    assert too_full([*many, Path("a/__init__.py"), *(Path("tests/a") / file for file in many)]) == {}
    assert too_full([*many, Path("a/m.py")]) == {"a": 16}
