"""What `./kappa test` tells at its end of all parts together, each table once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.commands import test as testing
from cli.entry import CHECKOUT
from cli.suite import Part, Run


def test_what_went_red_without_a_safeguard_is_one_table_of_all_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reds = ({"fence: off": ["    t1: x"]}, {"fence: off": ["    t2: y"], "a": ["    t3: z"]})
    _sum_up(tmp_path, [{"reds": one} for one in reds])
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:-1] == ["a", "    t3: z", "fence: off", "    t1: x", "    t2: y"]


def test_what_the_tests_of_faults_measured_is_one_table_of_all_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = ["| fault | test |", "| --- | --- |"]
    rows: Sequence[list[str]] = (["| F9 | a |", "| F30 | b |"], [], ["| F2, F3 | c |", "| F10 | d |"])
    _sum_up(tmp_path, [{"measured": one and head + one} for one in rows])
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:-1] == [*head, "| F2, F3 | c |", "| F9 | a |", "| F10 | d |", "| F30 | b |"]


def _sum_up(folder: Path, told: Sequence[dict[str, object]]) -> None:
    """Of parts that kept these tallies, and passed."""
    runs = [Run(Part(f"part {number}", [], counts=True), folder, CHECKOUT) for number in range(len(told))]
    for one, kept in zip(runs, told, strict=True):
        one.tally.write_text(json.dumps({"selected": 1, "passed": 1, **kept}))
    testing._sum_up(runs)
