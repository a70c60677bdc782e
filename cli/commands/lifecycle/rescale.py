"""The command `rescale`: other numbers of state partitions or executor cores for a running job."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import output
from cli.entry import settings
from cli.options import DryRun, Json, Reason, Wait, reason_or_asked
from cli.run_verb import by_airflow, when_held
from kappa.core.catalog import find
from kappa.platform import connect
from kappa.verbs.rescale.conditions import NothingAsked
from kappa.verbs.rescale.plan import RescaleRequest
from kappa.verbs.rescale.steps import plan_rescale

RESCALE_DAG = "rescale_stream"


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(rescale)


def rescale(
    job: Annotated[str, typer.Argument(help="A job of the catalogue.")],
    partitions: Annotated[int | None, typer.Option(metavar="N", help="State partitions; the state moves.")] = None,
    cores: Annotated[int | None, typer.Option(metavar="N", help="Cores; a restart, the state stays.")] = None,
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Give a job other state partitions or cores through Airflow, its state kept, and follow that to its end."""
    platform = settings()
    asked = RescaleRequest(find(job).name, partitions, cores)
    if partitions is None and cores is None:
        raise NothingAsked(asked.job)
    if dry_run:
        output.plans([plan_rescale(connect(platform), asked)], as_json)
        return
    form = _form(asked, reason_or_asked(reason), wait)
    output.outcomes(by_airflow(platform, RESCALE_DAG, {asked.job: form}), as_json)


def _form(asked: RescaleRequest, reason: str | None, wait: bool) -> dict[str, Any]:
    return {
        "partitions": asked.partitions,
        "cores": asked.cores,
        "reason": reason or "",
        "when_held": when_held(wait),
        "dry_run": False,
    }
