"""The command `retire`: give back the rows, checkpoint and code of one version before its time is over."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from typing import Annotated

import typer

from cli import output
from cli.entry import settings
from cli.follow import Outcome
from cli.options import DryRun, Json, Reason, VersionNumber, reason_required
from cli.run_verb import by_airflow, holders
from kappa.core.audit import Author, in_place_id
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find
from kappa.core.requests.fields import write
from kappa.core.requests.lifecycle import RetireRequest
from kappa.platform import connect
from kappa.verbs.retire.steps import VERB, plan_retire


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(retire)


def retire(
    job: Annotated[str, typer.Argument(help="A job of the catalogue.")],
    version: VersionNumber,
    reason: Reason = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Retire a version now: its rows and checkpoint go, for good; needs a reason.

    One that serves, is pinned, or that a run or replay holds is refused.
    """
    stack, name = settings(), find(job).name
    by = Author(getpass.getuser(), in_place_id(VERB, name), reason)
    plan = plan_retire(connect(stack), by, (name, version), holders(stack))
    if dry_run:
        output.plans([plan], as_json)
        return
    output.outcomes(retired(stack, {name: version}, reason_required(VERB, reason)), as_json)


def retired(stack: Settings, versions: Mapping[str, int], reason: str) -> list[Outcome]:
    """One version of each of these jobs, retired by Airflow. Raises Unreachable, AirflowRefused,
    OutOfSight."""
    asked = [RetireRequest(job, version, reason) for job, version in versions.items()]
    return by_airflow(stack, RetireRequest.verb.dag_id, {request.job or "": write(request) for request in asked})
