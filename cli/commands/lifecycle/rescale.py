"""The command `rescale`: other numbers of state partitions, cores or executors for a running job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from cli import output, status_of_job
from cli.entry import settings
from cli.options import DryRun, Json, Reason, Wait, argument, option, reason_or_asked
from cli.run_verb import by_airflow, when_held
from kappa.core.advice.size import Advice
from kappa.core.job_catalog import find
from kappa.core.refusals import Refusal
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
    advised: Annotated[
        bool, typer.Option("--advised", help="As the advice on its size says; given numbers count more.")
    ] = False,
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Give a job other partitions, cores or executors through Airflow, its state kept, and follow that to its end."""
    platform = settings()
    asked = RescaleRequest(find(job).name, partitions, cores, executors)
    if advised:
        asked = as_advised(asked, status_of_job.advised(platform))
        reason = reason or asked.reason
    if not asked.numbers:
        raise NothingAsked(asked.job)
    if dry_run:
        if asked.reason:
            output.err.print(asked.reason, markup=False, highlight=False)
        output.plans([plan_rescale(connect(platform), asked)], as_json)
        return
    asked = replace(asked, reason=reason_or_asked(reason), when_held=when_held(wait))
    output.outcomes(by_airflow(platform, asked.verb.dag_id, {asked.job: write(asked)}), as_json)


class NoAdvice(Refusal):
    """There is no advice that a rescale could carry out."""

    def __init__(self, job: str, why: str) -> None:
        super().__init__(f"{job} has no size to be rescaled to: {why}; nothing was changed. Give the numbers yourself.")


def as_advised(asked: RescaleRequest, told: Sequence[Advice]) -> RescaleRequest:
    """The request with the advised numbers where it has none, and the advice as its reason. Raises NoAdvice."""
    advice = next((each for each in told if each.job == asked.job), None)
    if advice is None:
        raise NoAdvice(asked.job, "no version of it serves")
    if not advice.form:
        raise NoAdvice(asked.job, f"{advice.sentence}{advice.command and f'; {advice.command}'}")
    given = {name: getattr(asked, name) for name in ("partitions", "cores", "executors")}
    wanted = {**advice.form, **{name: value for name, value in given.items() if value is not None}}
    return replace(asked, **wanted, reason=f"advised: {advice.sentence}")
