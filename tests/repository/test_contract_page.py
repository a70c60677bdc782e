"""The lists of docs/contract.md are those of the code: fates, settings that change results, states, commands, DAGs."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from cli.main import application
from kappa.core.fates import Fate
from kappa.core.job_catalog import JOBS, Effect
from kappa.core.versions import State

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contract.md").read_text()


def _section(number: int) -> str:
    return re.split(r"^## \d+\. ", PAGE, flags=re.MULTILINE)[number]


def _first_cells(text: str, heading: str) -> list[str]:
    """What stands in backticks in the first column of the table with this heading."""
    rows = text.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def _number(cell: str) -> int:
    """The number that a cell begins with."""
    (digits,) = re.findall(r"^ ?([\d,]*\d)", cell)
    return int(digits.replace(",", ""))


def test_the_fates_are_in_the_order_in_which_they_are_decided() -> None:
    assert _first_cells(_section(2), "fate") == [fate.value for fate in Fate]


def test_the_settings_that_change_results_have_their_defaults_and_bounds() -> None:
    known = {s.name: s for job in JOBS.values() for s in job.settings if s.effect is Effect.RESULT}
    assert _first_cells(_section(2), "setting") == list(known)
    for name, setting in known.items():
        (row,) = (line for line in _section(2).splitlines() if line.startswith(f"| `{name}` |"))
        assert _number(row.split("|")[2]) == setting.default, row
        assert [_number(end) for end in row.split("|")[3].split(" to ")] == [setting.least, setting.most], row


def test_the_states_of_a_version_are_named() -> None:
    (line,) = re.findall(r"The states of a version are ([^.]+)\.", _section(3))
    assert re.findall(r"`(\w+)`", line) == [state.value for state in State]


def test_every_command_is_named() -> None:
    named = {words.split()[0] for words in _first_cells(_section(6), "command")}
    assert named == set(typer.main.get_command(application()).commands)  # type: ignore[attr-defined]


def test_every_dag_is_named_but_those_that_come_later() -> None:
    later = set(re.findall(r"\*\(later\)\* `(\w+)`", _section(7)))
    named = set(re.findall(r"`(\w+_\w+)`", _section(7)))
    assert named - later == {file.stem for file in (ROOT / "dags").glob("*.py")}
