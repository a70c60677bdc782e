"""What is said of a red line beside its words: the runbook's entry, and what to type first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stack.alerts.wording import remedy

RUNBOOK = Path(__file__).resolve().parents[3] / "docs" / "runbook.md"


def line(name: str, of: str, what: str = "") -> dict[str, Any]:
    return {"line": name, "of": of, "what": what}


@pytest.mark.parametrize(
    ("red", "entry", "first"),
    [
        (line("silent", "ad_ctr v2"), "JOB vN silent", "ad_ctr"),
        (line("process", "airflow-api"), "process NAME is STATE", "./kappa up"),
        (line("part", "postgres"), "postgres does not answer: ...", "./kappa"),
        (line("process", "monitor"), "process NAME is STATE", "./kappa up"),
        (line("part", "monitor"), "monitor does not answer: ...", "./kappa"),
        (line("registry", "postgres"), "postgres has no registry", "./kappa"),
    ],
)
def test_each_red_line_has_an_entry_of_the_runbook_and_a_command(red: dict[str, Any], entry: str, first: str) -> None:
    told, command = remedy(red, embedded=True)
    assert told.startswith(f'docs/runbook.md, "{entry}')
    assert told.split('"')[1] in RUNBOOK.read_text()
    assert first in command


def test_elsewhere_the_command_is_another_one() -> None:
    assert remedy(line("part", "monitor"), embedded=False)[1] == "./kappa alerts run"
