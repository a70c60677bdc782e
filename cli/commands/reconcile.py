"""The command `reconcile`: recompute from the topic what must be served, and print every difference."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cli import output
from cli.entry import settings
from kappa.core.installation.kafka_access import KafkaUser
from oracle.compare import Difference
from oracle.fates import FATES
from oracle.postgres import PostgresDatabase
from oracle.reconcile import SystemClock, Verdict, reconcile
from oracle.topic import KafkaTopic


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command("reconcile")(command)


def command(
    job: Annotated[list[str] | None, typer.Option(help="Only this job; repeatable.")] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a lag of 0 first.")] = 60.0,
    show: Annotated[int, typer.Option(min=0, help="Most differences to print; the count is always told.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="The verdict as JSON on stdout.")] = False,
) -> None:
    """Recompute from the topic itself, by other code, what must be served; print each difference, exit 1
    if there is one.

    Compared is all that is served, each segment with the version that serves it, up to the offsets that it had
    committed: the serving views, ops.accounting and ops.quarantine; and the jobs with each other. What the log no
    longer holds cannot be compared; it is said, and is no difference.
    """
    stack = settings()
    topic = KafkaTopic(stack.kafka_access(KafkaUser.READER).librdkafka(), stack.topic.name)
    database = PostgresDatabase(stack.dsn("kappa_operator"))
    with output.working("waiting for the jobs to have read the log") as say:
        verdict = reconcile(
            topic,
            database,
            frozenset(job) if job else None,
            wait,
            SystemClock(),
            lambda count: say(f"reading the log: {count:,} records"),
        )
    _tell(verdict, show, as_json)
    if verdict.differences:
        raise typer.Exit(1)


def _tell(verdict: Verdict, show: int, as_json: bool) -> None:
    if as_json:
        count = len(verdict.differences)
        summary = {**asdict(verdict), "difference_count": count}
        for part in (*summary["jobs"], {"differences": summary["across"]}):
            del part["differences"][show:]
        typer.echo(json.dumps(summary, default=str))
        return
    out = Console()
    out.print(_summary(verdict))
    for each in verdict.differences[:show]:
        out.print(_line(each), markup=False, highlight=False, soft_wrap=True)
    for reason in uncompared(verdict):
        out.print(f"not compared: {reason}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"{len(verdict.differences):,} differences", style="red" if verdict.differences else "green")


def uncompared(verdict: Verdict) -> list[str]:
    """In words, all that could not be held against the log or another job."""
    return [each for job in verdict.jobs for each in job.uncompared] + verdict.across_uncompared


def _summary(verdict: Verdict) -> Table:
    """One column a job: records by fate, rows compared, unread records."""
    table = Table(title=f"{verdict.records:,} records read from the log in {verdict.seconds:.1f} s")
    table.add_column("")
    for job in verdict.jobs:
        table.add_column(f"{job.job} v{job.version}", justify="right")
    if any(len(job.serving) > 1 for job in verdict.jobs):
        earlier = [", ".join(f"v{number}" for number in job.serving[:-1]) for job in verdict.jobs]
        table.add_row("earlier windows by", *earlier)
    table.add_row("records it read", *[f"{job.read:,}" for job in verdict.jobs])
    for fate in FATES:
        table.add_row(fate, *[f"{job.fates.get(fate, 0):,}" for job in verdict.jobs])
    for view in sorted({view for job in verdict.jobs for view in job.rows}):
        table.add_row(f"rows of {view}", *[f"{job.rows[view]:,}" if view in job.rows else "" for job in verdict.jobs])
    table.add_row("not read yet", *[f"{job.unread:,}" for job in verdict.jobs])
    table.add_row("differences", *[f"{len(job.differences):,}" for job in verdict.jobs])
    return table


def _line(each: Difference) -> str:
    return f"{each.job} {each.view} {each.key} {each.column}: must be {each.expected}, is {each.served}"
