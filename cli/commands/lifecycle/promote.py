"""The commands `promote` and `rollback`: let readers see other versions, all jobs of a release at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from cli import output
from cli.catch_up_progress import CatchUps
from cli.entry import settings
from cli.follow import Outcome, Watch
from cli.options import DryRun, InPlace, Jobs, Json, Reason, Wait, reason_required
from cli.output import err
from cli.run_verb import attempt_together, by_one_run, holders, when_held
from cli.sign_in import person
from kappa.core.audit import Author, in_place_id
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import find
from kappa.core.requests.fields import write
from kappa.core.requests.lifecycle import PromoteRequest, RollbackRequest
from kappa.platform import Platform, connect
from kappa.verbs.promote import steps as promoting
from kappa.verbs.promote.steps import PROMOTE, ROLLBACK, MovePlan

User = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="USER", help="Ask as this user of the embedded stack: a replay's own asker may not approve it."
    ),
]


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    for command in (promote, rollback):
        app.command()(command)


def promote(
    jobs: Jobs,
    user: User = None,
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Promote by hand the validated candidates that a replay of these jobs made; needs a reason.

    Where somebody has to agree and nobody has answered, this is the answer.
    """
    stack, names = settings(), _names(jobs)
    platform = connect(stack)
    if dry_run:
        by = Author(user or person(stack, datetime.now(UTC)).user, in_place_id(PROMOTE, ".".join(names)))
        output.plans([promoting.plan_promote(platform, names, by)], as_json)
        return
    form = write(PromoteRequest(tuple(names), reason_required(PROMOTE, reason), when_held=when_held(wait)))
    watches = (CatchUps(platform, PROMOTE),)
    output.outcomes(by_one_run(stack, PromoteRequest.verb.dag_id, names, form, watches, user), as_json)


def rollback(
    jobs: Jobs,
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    in_place: InPlace = False,
    as_json: Json = False,
) -> None:
    """Undo the newest release of these jobs: what served before serves again, as fresh as the log; needs a reason."""
    stack, names = settings(), _names(jobs)
    platform = connect(stack)
    plan = promoting.plan_rollback(platform, names)
    if dry_run:
        output.plans([plan], as_json)
        return
    if not as_json:
        output.plans([plan], as_json=False, title="what a rollback does")
    why = reason_required(ROLLBACK, reason)
    if in_place:
        output.outcomes([_in_place(stack, platform, names, plan, why)], as_json)
    else:
        output.outcomes(rolled_back(stack, names, why, wait=wait), as_json)


def rolled_back(
    stack: Settings, jobs: Sequence[str], reason: str, beside: Sequence[Watch] = (), wait: bool = False
) -> list[Outcome]:
    """The roll-back by Airflow, followed to its end; what `beside` watches is told, too. Raises Unreachable,
    AirflowRefused, OutOfSight."""
    watches = (CatchUps(connect(stack), ROLLBACK), *beside)
    form = write(RollbackRequest(tuple(_names(jobs)), reason, when_held=when_held(wait)))
    return by_one_run(stack, RollbackRequest.verb.dag_id, form["jobs"], form, watches)


def _in_place(stack: Settings, platform: Platform, names: Sequence[str], plan: MovePlan, reason: str) -> Outcome:
    """The same plan and steps, here."""

    def act(platform: Platform, by: Author) -> str:
        return promoting.carry_out(platform, plan, by, holders(stack), lambda step: err.print(step, highlight=False))

    return attempt_together(platform, ROLLBACK, names, reason, act)


def _names(jobs: Sequence[str]) -> list[str]:
    """The jobs, each once, in order. Raises UnknownJob."""
    return sorted({find(job).name for job in jobs})
