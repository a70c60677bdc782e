"""The command `repair`: what should run and does not is started again, and what was left half done is settled; of a
checkpoint, files that cannot be read are restored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from cli import output
from cli.entry import settings
from cli.follow import Outcome
from cli.options import DryRun, InPlace, Json, Reason, reason_or_asked
from cli.run_verb import attempt, by_airflow, in_place
from kappa.core.audit import Author
from kappa.core.job_catalog import find
from kappa.core.requests.fields import write
from kappa.core.requests.lifecycle import RepairRequest
from kappa.platform import Platform, connect
from kappa.verbs.repair import checkpoint as checkpoint_steps
from kappa.verbs.repair.plan import RepairPlan
from kappa.verbs.repair.steps import carry_out, plan_repair

VERB = RepairRequest.verb
CHECKPOINT = "Restore files of the JOBs' checkpoints from the database's offsets, in place, where that is exact."
ALL = "all"
"""What stands for every job where a job is named; the form leaves the job empty then."""


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(repair)


def repair(
    jobs: Annotated[list[str] | None, typer.Argument(metavar="JOB...", help="Without one: all jobs.")] = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    without_airflow: InPlace = False,
    checkpoint: Annotated[bool, typer.Option("--checkpoint", help=CHECKPOINT)] = False,
    as_json: Json = False,
) -> None:
    """Compare what should be with what is, print it, and repair what may be repaired."""
    platform = settings()
    if checkpoint:
        _restore(jobs or (), reason, dry_run, as_json)
        return
    names = [find(job).name for job in dict.fromkeys(jobs or ())] or [ALL]
    ports = connect(platform)
    found = {name: plan_repair(ports, None if name == ALL else name) for name in names}
    if dry_run:
        output.plans(list(found.values()), as_json)
        return
    if not as_json:
        output.plans(list(found.values()), as_json=False, title="found")
    why = reason_or_asked(reason)
    if without_airflow:
        output.outcomes(_in_place(ports, found, why), as_json)
        return
    forms = {name: write(RepairRequest(None if name == ALL else name, why)) for name in names}
    output.outcomes(by_airflow(platform, VERB.dag_id, forms), as_json)


def _restore(jobs: Sequence[str], reason: str | None, dry_run: bool, as_json: bool) -> None:
    """Restore checkpoints, or say what would be done to them. Raises typer.BadParameter where no job is named."""
    if not jobs:
        raise typer.BadParameter("--checkpoint needs the JOB whose checkpoint it is")
    platform, names = settings(), [find(job).name for job in dict.fromkeys(jobs)]
    if dry_run:
        output.plans([checkpoint_steps.plan_restore(connect(platform), name) for name in names], as_json)
        return
    output.outcomes(in_place(platform, VERB, names, reason_or_asked(reason), checkpoint_steps.carry_out), as_json)


def _in_place(platform: Platform, found: Mapping[str, RepairPlan], reason: str | None) -> list[Outcome]:
    """One plan after the other; each step takes the lease of the version that it touches."""

    def act(platform: Platform, name: str, by: Author) -> str:
        return carry_out(platform, found[name], by)

    return [attempt(platform, VERB, name, reason, act) for name in found]
