"""The command `reprocess`: replay the log into new versions, have them validated, approved and promoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from cli import lifecycle_verbs, output
from cli.approval_prompt import Keys, Questions, keys
from cli.catch_up_progress import CatchUps
from cli.commands.lifecycle.deploy import CODE, pair
from cli.entry import settings
from cli.follow import Outcome, Watch
from cli.options import DryRun, Jobs, Json, Reason, Wait, option, reason_or_asked
from cli.run_verb import by_one_run, when_held
from cli.sign_in import session
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import resolve
from kappa.core.replays import Answer, Approval
from kappa.core.requests.fields import write
from kappa.core.requests.lifecycle import EARLIEST
from kappa.core.requests.reprocessing import ReprocessRequest, read_band
from kappa.core.validation import Parity
from kappa.platform import Platform, connect
from kappa.verbs.replay.approvers import answer_sentence
from kappa.verbs.replay.candidate import given as settings_of
from kappa.verbs.replay.observation import plan_reprocess

VERB = ReprocessRequest.verb


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(reprocess)


Start = Annotated[str, option(ReprocessRequest, "start", "--from")]
Given = Annotated[list[str] | None, option(ReprocessRequest, "settings", "--set", metavar="KEY=VALUE")]
Digest = Annotated[str, option(ReprocessRequest, "artifact", help=CODE)]
Asked = Annotated[Parity, option(ReprocessRequest, "parity")]
Bands = Annotated[list[str] | None, option(ReprocessRequest, "bands", "--band", metavar="BAND")]
Approve = Annotated[Approval | None, option(ReprocessRequest, "approval", "--approve")]
Rate = Annotated[int | None, option(ReprocessRequest, "rate")]
Cores = Annotated[int | None, option(ReprocessRequest, "cores")]


def reprocess(
    jobs: Jobs,
    start: Start = EARLIEST,
    given: Given = None,
    artifact: Digest = "",
    parity: Asked = Parity.EXACT,
    band: Bands = None,
    approve: Approve = None,
    rate: Rate = None,
    cores: Cores = None,
    reason: Reason = None,
    wait: Wait = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Compute jobs anew from the log, beside the live versions, and promote them together once they are validated.

    Exit 1, too, when somebody rejects it or nobody answers.
    """
    platform = settings()
    read = tuple(read_band(one) for one in band or ())
    asked = ReprocessRequest(
        tuple(dict.fromkeys(jobs)), start, artifact, dict(pair(item) for item in given or ()), parity, read, approve,
        cores, rate, when_held=when_held(wait),
    )  # fmt: skip
    for job in asked.catalogued():
        resolve(job, settings_of(asked, job))
    asked = replace(asked, artifact=lifecycle_verbs.digest(platform, artifact))
    if dry_run:
        output.plans([plan_reprocess(connect(platform), asked)], as_json)
        return
    asked = replace(asked, reason=reason_or_asked(reason))
    output.outcomes(by_airflow(platform, asked), as_json)


def by_airflow(stack: Settings, asked: ReprocessRequest) -> list[Outcome]:
    """The replay by Airflow, followed to its end, where a key press may approve it. Raises Unreachable,
    AirflowRefused, OutOfSight."""
    with keys() as pressed:
        return followed(stack, asked, pressed)


def followed(stack: Settings, asked: ReprocessRequest, pressed: Keys, beside: Sequence[Watch] = ()) -> list[Outcome]:
    """The replay by Airflow, followed to its end; keys answer its question, and what `beside` watches is told, too.

    Raises Unreachable, AirflowRefused, OutOfSight.
    """
    platform = connect(stack)
    names = [job.name for job in asked.catalogued()]
    asks = Questions(partial(session, stack), pressed)
    form = write(replace(asked, jobs=tuple(names)))
    watches: Sequence[Watch] = (CatchUps(platform, VERB), asks, *beside)
    return answered(platform, by_one_run(stack, VERB.dag_id, names, form, watches))


def answered(platform: Platform, reached: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes, of which a replay that was not approved is no success, though its run is one. Raises
    Unreachable."""
    return [_answered(platform, outcome) for outcome in reached]


def _answered(platform: Platform, outcome: Outcome) -> Outcome:
    replay = platform.releases.replay_of_run(outcome.run_id) if outcome.success else None
    if replay is None or replay.answer in (None, Answer.APPROVED):
        return outcome
    said = answer_sentence(Answer(replay.answer), replay.answered_by)
    sentence = outcome.sentence if said in outcome.sentence else f"{outcome.sentence} ({said})"
    return replace(outcome, success=False, sentence=sentence)
