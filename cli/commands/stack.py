"""The commands of the embedded stack: up, down, and status, nothing of which is wider than COLUMNS."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cli import entry, output, status_of_job
from kappa.core.advice.size import Size
from kappa.core.fates import Fate
from kappa.core.installation.no_registry import NoRegistry
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.verbs.drivers.launch import resume_all
from kappa.verbs.replay.price import duration
from stack.down import check_ours, down, wipe
from stack.status.outages import DoesNotAnswer
from stack.status.overview import status
from stack.up import Echo, Provision, up

messages = Console(stderr=True, soft_wrap=True, highlight=False)
COLUMNS = 100
FATES = [fate.value for fate in Fate if fate is not Fate.COUNTED] + [Fate.COUNTED.value]
HEADINGS = ("state", "unread", "lag", "commit", "batch", "complete")
"""Lag, and how old the newest commit is, in seconds; complete through which append_time, month to minute."""
BESIDE = 4
"""So many versions stand beside each other in the table of fates."""


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command("up")(_up)
    app.command("down")(_down)
    app.command("status")(_status)


@contextmanager
def progress(title: str) -> Iterator[Echo]:
    """Lines as they come; on a terminal with a spinner below them."""
    if messages.is_terminal:
        with messages.status(title):
            yield lambda line: messages.print(line, markup=False)
    else:
        yield lambda line: messages.print(line, markup=False)


class Elsewhere(Refusal):
    """The settings name an installation whose parts the command does not start or stop."""

    def __init__(self, settings: Settings, verb: str) -> None:
        super().__init__(
            f"the settings name an installation of its own (Postgres at {settings.database_address}), and {verb} is of "
            "the embedded stack only. Nothing was started or stopped. What started it does that: of --target compose, "
            "docker compose."
        )


def _up(
    provision: Annotated[
        Provision, typer.Option(help="What makes the log's topic, Kafka's users and their rights.")
    ] = (Provision.BUILT_IN),
) -> None:
    """Start the embedded stack and wait until each part is healthy; may be repeated."""
    settings = entry.settings()
    bring_up(settings, provision)
    messages.print(
        f"Airflow: {settings.airflow_url}  users and passwords: {settings.secrets / 'airflow-users.json'}",
        markup=False,
    )


def bring_up(settings: Settings, provision: Provision = Provision.BUILT_IN) -> None:
    """The stack, and then every stream that is wanted running. Raises Elsewhere."""
    if not settings.is_embedded:
        raise Elsewhere(settings, "up")
    with progress("starting the stack") as echo:
        up(settings, entry.CHECKOUT, echo, provision)
        for version in resume_all(settings):
            echo(f"{version} is started again")


def _down(
    delete: Annotated[bool, typer.Option("--wipe", help="Delete the stack's data, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Stop the embedded stack and all streams; may be repeated."""
    settings = entry.settings()
    if not settings.is_embedded:
        raise Elsewhere(settings, "down")
    if delete:
        check_ours(settings)
    if delete and not yes:
        typer.confirm(f"Delete the log, all rows, checkpoints and passwords in {settings.home}?", abort=True, err=True)
    with progress("stopping the stack") as echo:
        (wipe if delete else down)(settings, entry.CHECKOUT, echo)


def _status(
    job: Annotated[str | None, typer.Option(metavar="JOB", help="One job, in detail.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines, on stdout.")] = False,
) -> None:
    """Show processes, endpoints and jobs; exit 1 if something is red."""
    if job is not None:
        status_of_job.show(entry.settings(), job, as_json)
        return
    report = with_advice(entry.settings(), status(entry.settings(), entry.CHECKOUT))
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        show(report, entry.settings().is_embedded)
    if report["red"]:
        raise typer.Exit(1)


def with_advice(settings: Settings, report: dict[str, Any]) -> dict[str, Any]:
    """The report with the advice on each job that serves; none where Postgres does not tell of any job."""
    try:
        told = status_of_job.advised(settings) if report["jobs"] else []
    except (DoesNotAnswer, NoRegistry):
        told = []
    return {**report, "advice": [each.to_json() for each in told]}


def show(report: Mapping[str, Any], embedded: bool) -> None:
    """Print the document of `status --json`; `embedded`: its parts are those that `./kappa up` starts."""
    output.out.print(document(report, embedded), width=min(COLUMNS, output.out.width))


def document(report: Mapping[str, Any], embedded: bool) -> RenderableType:
    """All of it, in the order in which one asks."""
    versions = [(f"{job['job']} v{v['version']}", v) for job in report["jobs"] for v in job["versions"]]
    beside = [versions[at : at + BESIDE] for at in range(0, len(versions), BESIDE)]
    return Group(
        *_table("process", ("pid", "state"), [(p["name"], p["pid"], p["state"]) for p in report["processes"]]),
        *_table("endpoint", ("address",), list(report["endpoints"].items())),
        *_table("version", HEADINGS, [_version(name, v) for name, v in versions]),
        *(table for few in beside for table in _fates(few)),
        *(_replay(replay, candidate) for replay in report["replays"] for candidate in replay["candidates"]),
        *(_advice(advice) for advice in report["advice"] if advice["size"] != Size.NONE),
        *(output.red_line(line, embedded) for line in report["red"]),
    )


def _table(first: str, others: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[Table]:
    """One table, None as an empty cell; none where it has no rows."""
    if not rows:
        return
    made = Table()
    for heading in (first, *others):
        made.add_column(heading, no_wrap=heading not in ("state", "address"))
    for row in rows:
        made.add_row(*("" if value is None else escape(str(value)) for value in row))
    yield made


def _version(name: str, v: Mapping[str, Any]) -> tuple[Any, ...]:
    """One version's row: what it is, how far behind, how old its numbers are."""
    state = v["state"] if v["desired"] == "running" else f"{v['state']}, {v['desired']}"
    return (
        name, state, f"{v['lag_events'] or 0:,}", _unit(v["lag_seconds"], "s"), _unit(v["freshness_seconds"], "s"),
        _unit(v["batch_ms"], "ms"), (v["complete_through"] or "")[5:16].replace("T", " "),
    )  # fmt: skip


def _fates(versions: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[Table]:
    """What became of the records, a column for each version."""
    names = [name for name, _ in versions]
    return _table("fates", names, [(fate, *(f"{v[fate]:,}" for _, v in versions)) for fate in ("read", *FATES)])


def _replay(replay: Mapping[str, Any], c: Mapping[str, Any]) -> Text:
    """What a replay is at and how far one candidate has come, in two lines."""
    eta = f", ready in about {duration(c['eta_seconds'])}" if c["eta_seconds"] else ""
    doing = "its driver is starting" if not c["read"] else f"{c['rate_per_second']:,.0f}/s"
    return Text.from_markup(
        f"[bold]replay[/] {c['job']} v{c['version']}, against v{c['live']}: {replay['phase']}, {c['read']:,} read, "
        f"{c['unread']:,} unread, {doing}{eta}\n"
        f"  from {(replay['from'] or 'the begin of the log')[:19]}, parity {replay['parity']}, asked by "
        f"{escape(replay['asked_by'])}, run {escape(replay['run_id'])}"
    )


def _advice(advice: Mapping[str, Any]) -> Text:
    """What would suit a job better, by which command, and on the next lines why."""
    return Text.from_markup(
        f"[bold]advice[/] {advice['job']} v{advice['version']}: {escape(advice['command'])}\n"
        f"  {escape(advice['sentence'])}"
    )


def _unit(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:,.0f} {unit}"
