"""No file keeps the marks that Git leaves where a merge is to be decided."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = r"^(<{7} |>{7} |\|{7} )"


def test_no_file_keeps_the_marks_of_a_merge() -> None:
    found = subprocess.run(["git", "grep", "-nIE", MARK], cwd=ROOT, capture_output=True, text=True).stdout
    assert found == ""


def test_a_mark_is_seen_and_a_heading_or_a_quotation_is_not() -> None:
    marks = ["<" * 7 + " HEAD", ">" * 7 + " 0123abc", "|" * 7 + " base"]
    assert [bool(re.match(MARK, line)) for line in [*marks, "=======", "> quoted", "| a | table |", "<<< HEAD"]] == [
        True, True, True, False, False, False, False,
    ]  # fmt: skip
