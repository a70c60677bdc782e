"""Lines of prose end at column 120: of tables, code and headings only a screen decides."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 120
NO_PROSE = ("|", "#", "    ")


def long_lines(page: str) -> list[int]:
    """The numbers of the lines of prose that are too long."""
    found, is_code = [], False
    for number, line in enumerate(page.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and len(line) > LONGEST and not line.startswith(NO_PROSE):
            found.append(number)
    return found


def test_no_line_of_prose_is_longer_than_it_may_be() -> None:
    pages = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {page: found for page in pages.split() if (found := long_lines((ROOT / page).read_text()))} == {}


def test_a_long_line_is_seen_and_code_is_not_prose() -> None:
    long = "word " * 30
    page = f"# {long}\n{long}\n| {long} |\n```\n{long}\n```\nshort\n- {long}\n"
    assert long_lines(page) == [2, 8]
