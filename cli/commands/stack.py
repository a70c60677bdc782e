"""The commands of the embedded stack: up, down, status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console

from cli import entry, status_of_job
from cli.commands import status_tables
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from kappa.verbs.drivers.launch import resume_all
from stack.down import check_ours, down, wipe
from stack.status.overview import status
from stack.up import Echo, Provision, up

messages = Console(stderr=True, soft_wrap=True, highlight=False)


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
    report = status(entry.settings(), entry.CHECKOUT)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        status_tables.show(report)
    if report["red"]:
        raise typer.Exit(1)
