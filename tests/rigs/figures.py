"""Figures of a fault that rigs measure, kept for the test that runs, and a table of them.

Of several notes of one test the largest counts. A dash stands for what a test does not measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

NONE = "-"


class Figure(StrEnum):
    """What is measured of a fault: records that the test's log held, records without a fate, rows that differ from the
    oracle's and by how many micros at most, seconds from the fault's end to the next commit, and seconds from its
    beginning to the first red line."""

    RECORDS = "records"
    RESIDUAL = "without a fate"
    ROWS = "rows differ"
    MICROS = "by micros"
    RECOVERED = "recovered after s"
    RED = "red after s"


HEAD = ("fault", "test", *Figure)


@dataclass
class Measured:
    """A test, the faults it is marked with, and its figures."""

    faults: Sequence[str]
    test: str
    figures: dict[Figure, float] = field(default_factory=dict)

    def row(self) -> list[str]:
        """The cells of HEAD."""
        return [", ".join(self.faults), self.test, *(_cell(self.figures.get(figure)) for figure in Figure)]


def _cell(figure: float | None) -> str:
    if figure is None:
        return NONE
    return f"{figure:,.0f}" if figure == int(figure) else f"{figure:.1f}"


RUNNING: list[Measured] = []
"""The test that runs, if it is one of faults."""


def note(figures: dict[Figure, float]) -> None:
    """Keep what was measured now for the test that runs."""
    for one in RUNNING:
        for figure, value in figures.items():
            one.figures[figure] = max(value, one.figures.get(figure, value))


def of_verdict(verdict: Mapping[str, Any]) -> dict[Figure, float]:
    """What the oracle found, as `./kappa reconcile --json` has it: records that a job read and has no fate for, rows
    that differ, and by how many micros at most."""
    jobs = verdict["jobs"]
    found = [one for job in jobs for one in job["differences"]] + list(verdict["across"])
    rows = {(one["job"], one["view"], one["key"]) for one in found}
    apart = [abs(int(one["expected"] or 0) - int(one["served"] or 0)) for one in found if "micros" in one["column"]]
    return {
        Figure.RECORDS: verdict["records"],
        Figure.RESIDUAL: max(abs(job["read"] - sum(job["fates"].values())) for job in jobs),
        Figure.ROWS: len(rows),
        Figure.MICROS: max(apart, default=0),
    }


def table(done: list[Measured]) -> list[str]:
    """A row a test that measured something, below the two lines of a head, as Markdown has it; empty without one."""
    told = [one for one in done if one.figures]
    rows = [one.row() for one in sorted(told, key=lambda one: (int(one.faults[0][1:]), one.test))]
    return [f"| {' | '.join(cells)} |" for cells in (HEAD, ["---"] * len(HEAD), *rows)] if rows else []
