"""What a bench prints: a short table for people, or one JSON document; a Refusal ends it in one sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kappa.core.refusals import Refusal

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout instead of tables.")]

messages = Console(stderr=True, soft_wrap=True, highlight=False)
_out = Console(highlight=False, width=None if sys.stdout.isatty() else 160)


def say(line: str) -> None:
    """One line of progress, on stderr."""
    messages.print(line, markup=False)


def document(values: Mapping[str, Any]) -> None:
    """The whole outcome as JSON."""
    typer.echo(json.dumps(values, indent=2, default=str))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """One table; the first column holds names, the others numbers."""
    made = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left")
    for row in rows:
        made.add_row(*(_cell(value) for value in row))
    _out.print(made)


def run(command: Callable[..., None]) -> None:
    """Run a bench's command; a Refusal ends it with its message and exit code 1, or its own `exit_code`."""
    try:
        typer.run(command)
    except Refusal as refusal:
        messages.print(f"[bold red]error:[/] {escape(str(refusal))}")
        sys.exit(getattr(refusal, "exit_code", 1))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
