"""The command `audit`: who did what to which job, why, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cli import output
from cli.entry import settings
from cli.operator_connection import Reading, looking
from cli.options import Json

_ENTRIES = """
select at, actor, action, job, version, run_id, reason, evidence from ops.audit
where (%(job)s::text is null or job = %(job)s) and (%(run)s::text is null or run_id = %(run)s)
order by at desc limit %(last)s"""

TOLD = ("sentence", "found", "why", "rule")
"""Where evidence holds words, the most telling first."""


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(audit)


def audit(
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    run: Annotated[str | None, typer.Option(help="Only of the run with this id.")] = None,
    last: Annotated[int, typer.Option(metavar="N", min=1, help="The newest so many.")] = 20,
    as_json: Json = False,
) -> None:
    """Show the audit, the newest entry last."""
    with looking(settings()) as connection:
        found = entries(connection, job, run, last)
    if as_json:
        typer.echo(json.dumps([_json(entry) for entry in found], indent=2))
        return
    output.table("at", ("by", "action", "job", "reason", "what came of it"), [_row(entry) for entry in found])
    if not found:
        output.err.print("no such entry in the audit", highlight=False)


def entries(connection: Reading, job: str | None, run: str | None, last: int) -> list[dict[str, Any]]:
    """The newest entries in the order in which they were written: at, actor, action, job, version, run_id, reason,
    evidence."""
    rows = connection.execute(_ENTRIES, {"job": job, "run": run, "last": last}).fetchall()
    return rows[::-1]


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    version = f" v{entry['version']}" if entry["version"] is not None else ""
    return (
        f"{entry['at']:%Y-%m-%d %H:%M:%S}", entry["actor"], entry["action"], f"{entry['job'] or ''}{version}",
        entry["reason"] or "", told(entry["evidence"]),
    )  # fmt: skip


def told(evidence: Mapping[str, Any]) -> str:
    """What evidence says in words; empty where it says nothing so."""
    return next((str(evidence[name]) for name in TOLD if evidence.get(name)), "")


def _json(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "at": entry["at"].isoformat()}
