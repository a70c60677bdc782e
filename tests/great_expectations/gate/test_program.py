"""The program of a validation as the control plane runs it: exit codes, files, crashes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import validate

from kappa.verbs.replay.validation import PROGRAM, Ended, Outcome, outcome_of, run_program
from tests.great_expectations.gate.desk import CANDIDATE, Desk, ad_rows, altered

pytestmark = pytest.mark.rig
ROWS = ad_rows(range(5))
Program = Callable[[list[str], Path], Ended]


def process(options: list[str], folder: Path) -> Ended:
    """The program as it is run; its words are left in the folder."""
    return run_program([sys.executable, str(PROGRAM), *options], folder, 120)


def here(options: list[str], _: Path) -> Ended:
    """Its one function, in this process, which has imported Great Expectations; that takes seconds."""
    return Ended(validate.main(options), "")


def run(asked: dict[str, Any], folder: Path, expect: int, program: Program) -> Outcome:
    """What the program left behind."""
    source, output, report = (folder / name for name in ("in.json", "out.json", "report.html"))
    source.write_text(json.dumps(asked))
    ended = program(["--input", str(source), "--output", str(output), "--report", str(report)], folder)
    assert ended.exit_code == expect, ended.last_words
    return outcome_of(ended, output, 120)


def test_the_program_passes_what_is_equal_and_leaves_a_page_that_needs_nothing_else(desk: Desk, tmp_path: Path) -> None:
    desk.both("ad_ctr", ROWS, ROWS)
    outcome = run(desk.asked("ad_ctr"), tmp_path, 0, process)
    assert (outcome["success"], outcome["crashed"], outcome["compared_rows"]) == (True, False, 15)
    assert outcome["statistics"]["expectations"] == outcome["statistics"]["passed"] == len(outcome["results"])
    page = (tmp_path / "report.html").read_text()
    assert "Passed" in page
    assert "http" not in page
    assert "<script" not in page


def test_the_program_fails_what_differs(desk: Desk, tmp_path: Path) -> None:
    desk.both("ad_ctr", ROWS, altered(ROWS, 0, clicks=-1))
    outcome = run(desk.asked("ad_ctr"), tmp_path, 1, here)
    assert (outcome["success"], outcome["crashed"]) == (False, False)
    assert [r["expectation"] for r in outcome["results"] if r["severity"] == "block" and not r["success"]] == ["parity"]


def test_a_database_that_does_not_answer_is_a_crash(desk: Desk, tmp_path: Path) -> None:
    asked = desk.asked("ad_ctr")
    port = str(desk.settings.ports.postgres)
    outcome = run({**asked, "database": asked["database"].replace(f":{port}/", ":1/")}, tmp_path, 3, process)
    assert (outcome["success"], outcome["crashed"]) == (False, True)
    assert "exit code 3 and left no output" in outcome["problem"]
    assert "Connection refused" in outcome["problem"]


def test_an_expectation_that_raises_is_a_crash_and_not_a_failure(desk: Desk, tmp_path: Path) -> None:
    desk.both("ad_ctr", ROWS, ROWS)
    desk.execute("""update registry.job_version set start_offsets = '{"0": "x"}' where version = %s""", CANDIDATE)
    outcome = run(desk.asked("ad_ctr"), tmp_path, 3, here)
    assert (outcome["success"], outcome["crashed"]) == (False, True)
    assert "raised an exception" in outcome["problem"]
    (raised,) = [r for r in outcome["results"] if r["problem"]]
    assert (raised["expectation"], "invalid input syntax" in raised["problem"]) == ("nothing_skipped", True)


def test_the_output_of_an_earlier_run_is_not_taken_for_that_of_a_crash(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text('{"success": true, "crashed": false, "compared_rows": 15, "results": []}')
    outcome = run({**desk.asked("ad_ctr"), "parity": "roughly"}, tmp_path, 3, process)
    assert (outcome["success"], outcome["crashed"]) == (False, True)
    assert "Invalid enum value 'roughly'" in outcome["problem"]
