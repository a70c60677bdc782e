"""The options that lifecycle commands share, and the question for a reason."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

Jobs = Annotated[list[str], typer.Argument(metavar="JOB...", help="Jobs of the catalogue.")]
Reason = Annotated[str | None, typer.Option(help="Why; kept in the audit.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan and change nothing.")]
Json = Annotated[bool, typer.Option("--json", help="For machines, on stdout.")]
InPlace = Annotated[bool, typer.Option("--without-airflow", help="The same plan and steps, in place.")]
Wait = Annotated[bool, typer.Option("--wait", help="Where another run holds the job: wait, instead of being refused.")]


def reason_or_asked(given: str | None) -> str | None:
    """The reason; asked for on a terminal when it is missing, and may stay empty."""
    if given is None and sys.stdin.isatty():
        answer: str = typer.prompt("Reason (kept in the audit)", default="", show_default=False, err=True)
        return answer or None
    return given
