"""The command `reprocess`: replay the log into new versions, have them validated, approved and promoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from cli import lifecycle_verbs, output
from cli.airflow_client import Airflow
from cli.approval_prompt import Keys, Questions, keys
from cli.catch_up_progress import CatchUps
from cli.commands.lifecycle.deploy import pair
from cli.entry import settings
from cli.follow import Outcome, Watch
from cli.options import DryRun, Jobs, Json, Reason, Wait, reason_or_asked
from cli.run_verb import by_one_run, when_held
from kappa.core.replays import Answer, Approval
from kappa.core.settings import Settings
from kappa.core.validation import Parity
from kappa.core.verbs import Verb
from kappa.platform import Platform, connect
from kappa.verbs.replay import bands
from kappa.verbs.replay.approval import answer_sentence
from kappa.verbs.replay.candidate import ReprocessRequest
from kappa.verbs.replay.observation import plan_reprocess
from kappa.verbs.start_point import EARLIEST

REPROCESS_DAG = "reprocess_stream"
VERB = Verb.REPROCESS


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(reprocess)


Start = Annotated[str, typer.Option("--from", help="earliest, or T: a full minute that is final.")]
Given = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting that differs.")]
Digest = Annotated[str, typer.Option(help="Digest; without it, the code of this checkout.")]
Asked = Annotated[Parity, typer.Option(help="Against the live rows: equal, equal within bands, or only told.")]
Bands = Annotated[
    list[str] | None,
    typer.Option(metavar="BAND", help="For declared: clicks:down:50 is at most 50 thousandths less; clicks:any."),
]
Approve = Annotated[Approval | None, typer.Option(help="Only stricter than the catalogue's policy.")]
Rate = Annotated[int | None, typer.Option(metavar="N", help="At most so many records/s per job.")]
Cores = Annotated[int | None, typer.Option(metavar="N", help="Cores per job.")]


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
    read = tuple(bands.read(one) for one in band or ())
    asked = ReprocessRequest(
        tuple(dict.fromkeys(jobs)), start, artifact, dict(pair(item) for item in given or ()), parity, read, approve,
        cores, rate,
    )  # fmt: skip
    asked.catalogued()
    asked = replace(asked, artifact=lifecycle_verbs.digest(platform, artifact))
    if dry_run:
        output.plans([plan_reprocess(connect(platform), asked)], as_json)
        return
    asked = replace(asked, reason=reason_or_asked(reason))
    output.outcomes(by_airflow(platform, asked, wait), as_json)


def by_airflow(stack: Settings, asked: ReprocessRequest, wait: bool = False) -> list[Outcome]:
    """The replay by Airflow, followed to its end, where a key press may approve it. Raises Unreachable,
    AirflowRefused, OutOfSight."""
    with keys() as pressed:
        return followed(stack, asked, pressed, wait=wait)


def followed(
    stack: Settings, asked: ReprocessRequest, pressed: Keys, beside: Sequence[Watch] = (), wait: bool = False
) -> list[Outcome]:
    """The replay by Airflow, followed to its end; keys answer its question, and what `beside` watches is told, too.

    Raises Unreachable, AirflowRefused, OutOfSight.
    """
    platform = connect(stack)
    names = [job.name for job in asked.catalogued()]
    asks = Questions(lambda user: Airflow(stack, user=user), pressed)
    watches: Sequence[Watch] = (CatchUps(platform, VERB), asks, *beside)
    return answered(platform, by_one_run(stack, REPROCESS_DAG, names, form(asked, wait), watches))


def form(asked: ReprocessRequest, wait: bool) -> dict[str, Any]:
    """The form of the DAG, filled in; the jobs apart."""
    filled = {name: value for name, value in asked.to_json().items() if name not in ("jobs", "promote")}
    texts = {name: str(value) for name, value in asked.settings.items()}
    return {**filled, "settings": texts, "reason": asked.reason or "", "when_held": when_held(wait), "dry_run": False}


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
