"""What the lifecycle commands print: plans and outcomes, as tables for people or as JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cli.follow import Outcome

WIDE = 200
err = Console(stderr=True, soft_wrap=True)
out = Console(highlight=False)
if not out.is_terminal:
    out = Console(highlight=False, width=WIDE)


def red_line(line: dict[str, Any], embedded: bool) -> Text:
    """What is wrong, since when; below it the runbook's entry, and what to type first."""
    from stack.alerts.wording import remedy  # only what is red pays for it

    since = f" (since {line['since'][:19]} UTC)" if line["since"] else ""
    entry, first = remedy(line, embedded)
    return Text.from_markup(
        f"[bold red]red:[/] {escape(line['what'])}{since}\n  {escape(entry)}\n  first: {escape(first)}"
    )


class Plan(Protocol):
    """Any plan."""

    def rows(self) -> list[tuple[str, str]]:
        """The plan for people."""

    def to_json(self) -> dict[str, Any]:
        """The plan for machines."""


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what goes on, for how long, while the body runs; the body may say something else."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(what)
        yield lambda now: progress.update(task, description=now)


def plans(made: Sequence[Plan], as_json: bool, title: str = "dry run: nothing was changed") -> None:
    """Print plans."""
    if as_json:
        typer.echo(json.dumps([plan.to_json() for plan in made], indent=2))
        return
    for plan in made:
        table = Table(show_header=False, title=title)
        for name, value in plan.rows():
            table.add_row(f"[bold]{escape(name)}[/]", escape(value))
        err.print(table)


def outcomes(reached: Sequence[Outcome], as_json: bool) -> None:
    """Print outcomes; ends the command with exit code 1 if one is a failure."""
    if as_json:
        typer.echo(json.dumps([outcome.to_json() for outcome in reached], indent=2))
    for outcome in reached:
        mark = "[green]done:[/]" if outcome.success else "[bold red]error:[/]"
        err.print(f"{mark} {escape(outcome.sentence)}", highlight=False)
    if not all(outcome.success for outcome in reached):
        raise typer.Exit(1)


def table(first: str, others: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print one table on stdout, None as an empty cell; nothing when it has no rows."""
    if not rows:
        return
    made = Table(first, *others)
    for row in rows:
        made.add_row(*("" if value is None else escape(str(value)) for value in row))
    out.print(made)
