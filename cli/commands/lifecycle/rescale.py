"""The command `rescale`: other numbers of state partitions, cores or executors for a running job."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from cli import output
from cli.entry import settings
from cli.options import DryRun, Json, Reason, Wait, argument, option, reason_or_asked
from cli.run_verb import by_airflow, when_held
from kappa.core.job_catalog import find
from kappa.core.requests.fields import write
from kappa.core.requests.lifecycle import RescaleRequest
from kappa.platform import connect
from kappa.verbs.rescale.conditions import NothingAsked
from kappa.verbs.rescale.steps import plan_rescale


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(rescale)


def rescale(
    job: Annotated[str, argument(RescaleRequest, "job")],
    partitions: Annotated[int | None, option(RescaleRequest, "partitions")] = None,
    cores: Annotated[int | None, option(RescaleRequest, "cores")] = None,
    executors: Annotated[int | None, option(RescaleRequest, "executors")] = None,
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Give a job other partitions, cores or executors through Airflow, its state kept, and follow that to its end."""
    platform = settings()
    asked = RescaleRequest(find(job).name, partitions, cores, executors)
    if not asked.numbers:
        raise NothingAsked(asked.job)
    if dry_run:
        output.plans([plan_rescale(connect(platform), asked)], as_json)
        return
    asked = replace(asked, reason=reason_or_asked(reason), when_held=when_held(wait))
    output.outcomes(by_airflow(platform, asked.verb.dag_id, {asked.job: write(asked)}), as_json)
