"""The command `explain`: a served number, who made it, and its records; or what a version makes of one record."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from typing import Annotated

import typer

from cli import explain_output, output
from cli.commands import explain_record
from cli.entry import settings
from cli.options import Json
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.job_catalog import ID
from kappa.core.refusals import Refusal
from oracle.explain import Number
from oracle.fates import MINUTE_MS
from oracle.lineage import Lineage, trace
from oracle.postgres_lineage import PostgresLineage
from oracle.topic import KafkaTopic

MINUTE_JOB, DAY_JOB = "ad_ctr", "client_spend"
SHOWN = 50
_DAYS = (date(1970, 1, 2), date(9999, 12, 30))


class InvalidQuestion(Refusal):
    """What is to be explained is not named as it must be."""

    def __init__(self, option: str, rule: str) -> None:
        super().__init__(f"{option}: {rule}. ./kappa explain --help says what names a number.")


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(explain)


def explain(
    job: Annotated[str, typer.Argument(help="ad_ctr (an ad's minute) or client_spend (a client's day).")],
    client: Annotated[str | None, typer.Option(help="The client_id.")] = None,
    ad: Annotated[str | None, typer.Option(help="The ad_id, for ad_ctr.")] = None,
    minute: Annotated[str | None, typer.Option(help="A time in the minute, like 2026-01-31T09:30; UTC.")] = None,
    day: Annotated[str | None, typer.Option(help="The client's own day, like 2026-01-31.")] = None,
    record: Annotated[str | None, typer.Option(metavar="PARTITION/OFFSET", help="One record instead.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="Whose code and settings to ask about it.")] = None,
    records: Annotated[int, typer.Option(metavar="N", min=0, help="At most so many; --json has all.")] = SHOWN,
    as_json: Json = False,
) -> None:
    """Show what a served number is made of: release, version, code, batches, and its records with their fates.

    The records are read back from the log by other code than the jobs'. Exit 1 unless they add up to what is served.
    With --record and --version: what that version makes of one record, said by its own code in a process of its own.
    """
    if record is not None or version is not None:
        explain_record.show(settings(), job, record, version, as_json)
        return
    number = asked(job, client, ad, minute, day)
    stack = settings()
    told = _traced(stack, number)
    if as_json:
        typer.echo(json.dumps(explain_output.to_json(told, stack), indent=2, default=str))
    else:
        explain_output.show(told, stack, records)
    if told.differences:
        for each in told.differences[:SHOWN]:
            line = f"{each.view}, {each.key}: {each.column} must be {each.expected}, is {each.served}"
            output.err.print(f"error: {line}", markup=False, highlight=False)
        raise typer.Exit(1)


def asked(job: str, client: str | None, ad: str | None, minute: str | None, day: str | None) -> Number:
    """The number that the options name. Raises InvalidQuestion."""
    needed = {MINUTE_JOB: {"--ad": ad, "--minute": minute}, DAY_JOB: {"--day": day}}
    if job not in needed:
        raise InvalidQuestion(job, f"numbers of {MINUTE_JOB} and {DAY_JOB} can be explained")
    if client is None:
        raise InvalidQuestion("--client", f"{job} needs it")
    for option, value in {"--ad": ad, "--minute": minute, "--day": day}.items():
        if option in needed[job] and value is None:
            raise InvalidQuestion(option, f"{job} needs it")
        if option not in needed[job] and value is not None:
            raise InvalidQuestion(option, f"{job} has no such key")
    for option, value in {"--client": client, "--ad": ad}.items():
        if value is not None and not ID.fullmatch(value):
            raise InvalidQuestion(f"{option} {value}", "an id is 1 to 64 of A-Z a-z 0-9 _ . : -")
    return Number(job, client, ad, None if minute is None else _minute(minute), None if day is None else _day(day))


def _minute(given: str) -> int:
    """The start (ms) of the minute that a time lies in; UTC without a zone."""
    try:
        at = datetime.fromisoformat(given)
    except ValueError as error:
        raise InvalidQuestion(f"--minute {given}", "give a time like 2026-01-31T09:30") from error
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    if not _DAYS[0] <= at.date() <= _DAYS[1]:
        raise InvalidQuestion(f"--minute {given}", f"it must lie between {_DAYS[0]} and {_DAYS[1]}")
    return int(at.timestamp()) * 1000 // MINUTE_MS * MINUTE_MS


def _day(given: str) -> date:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", given):
        raise InvalidQuestion(f"--day {given}", "give a date like 2026-01-31")
    try:
        found = date.fromisoformat(given)
    except ValueError as error:
        raise InvalidQuestion(f"--day {given}", "there is no such date") from error
    if not _DAYS[0] <= found <= _DAYS[1]:
        raise InvalidQuestion(f"--day {given}", f"it must lie between {_DAYS[0]} and {_DAYS[1]}")
    return found


def _traced(stack: Settings, number: Number) -> Lineage:
    """The number, explained; on a terminal the count of records read goes along."""

    def open_log(topic: str) -> KafkaTopic:
        return KafkaTopic(stack.kafka_access(KafkaUser.READER).librdkafka(), topic)

    with output.working("looking at what is served") as say:

        def tell(count: int) -> None:
            say(f"reading the log: {count:,} records")

        return trace(PostgresLineage(stack.dsn("kappa_operator")), open_log, number, tell)
