"""The commands `build`, `deploy`, `stop` and `start`."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from cli import lifecycle_verbs, output
from cli.entry import settings
from cli.options import DryRun, InPlace, Jobs, Json, Reason, Wait, option, reason_or_asked
from cli.output import err
from kappa.code import known_artifacts
from kappa.core.refusals import Refusal
from kappa.core.requests.lifecycle import EARLIEST, DeployRequest
from kappa.platform import connect
from kappa.verbs.deploy.observation import plan_deploy, plan_start
from kappa.verbs.deploy.plan import Action
from kappa.verbs.stop.steps import plan_stop

CODE = "Digest; without it, the code of this checkout."


class NotKeyValue(Refusal):
    """A --set is not KEY=VALUE."""

    def __init__(self, given: str) -> None:
        super().__init__(f"--set {given}: give KEY=VALUE, like --set cadence_ms=1000.")


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    for command in (build, deploy, stop, start):
        app.command()(command)


def build(
    listed: Annotated[bool, typer.Option("--list", help="Only list the known ones.")] = False,
    as_json: Json = False,
) -> None:
    """Make the immutable artifact of the code as it stands, named by its digest."""
    platform = settings()
    if not listed:
        made, new = lifecycle_verbs.build(platform)
        err.print(f"artifact {made.digest} " + ("built" if new else "was there already"), highlight=False)
        if as_json:
            typer.echo(json.dumps(made.to_json(), indent=2))
            return
    known = known_artifacts.known(platform)
    if as_json:
        typer.echo(json.dumps([artifact.to_json() for artifact in known], indent=2))
        return
    table = Table("digest", "built", "commit")
    for artifact in known:
        table.add_row(artifact.digest, f"{artifact.created_at:%Y-%m-%d %H:%M:%SZ}", artifact.commit or "")
    err.print(table)


def deploy(
    jobs: Jobs,
    start: Annotated[str, option(DeployRequest, "start", "--from")] = EARLIEST,
    given: Annotated[list[str] | None, option(DeployRequest, "settings", "--set", metavar="KEY=VALUE")] = None,
    artifact: Annotated[str, option(DeployRequest, "artifact", help=CODE)] = "",
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Deploy jobs through Airflow and follow that to its end."""
    platform = settings()
    asked = lifecycle_verbs.requests(platform, jobs, start, artifact, dict(pair(item) for item in given or []))
    if dry_run:
        plans = [plan_deploy(connect(platform), request) for request in asked]
        output.plans(plans, as_json)
        raise typer.Exit(any(plan.action is Action.REFUSED for plan in plans))
    output.outcomes(lifecycle_verbs.deploy(platform, asked, reason_or_asked(reason), wait), as_json)


def start(
    jobs: Jobs,
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    in_place: InPlace = False,
    as_json: Json = False,
) -> None:
    """Start stopped jobs again: the same artifact and settings, from their checkpoint."""
    platform = settings()
    if dry_run:
        output.plans([plan_start(connect(platform), job) for job in jobs], as_json)
        return
    act = lifecycle_verbs.start_in_place if in_place else lifecycle_verbs.start
    output.outcomes(act(platform, jobs, reason_or_asked(reason), wait), as_json)


def stop(
    jobs: Jobs,
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    in_place: InPlace = False,
    as_json: Json = False,
) -> None:
    """Stop jobs; they stay stopped until they are started."""
    platform = settings()
    if dry_run:
        output.plans([plan_stop(connect(platform), job) for job in jobs], as_json)
        return
    act = lifecycle_verbs.stop_in_place if in_place else lifecycle_verbs.stop
    output.outcomes(act(platform, jobs, reason_or_asked(reason), wait), as_json)


def pair(item: str) -> tuple[str, str]:
    """KEY and VALUE of a --set. Raises NotKeyValue."""
    name, equals, value = item.partition("=")
    if not (name and equals and value):
        raise NotKeyValue(item)
    return name, value
