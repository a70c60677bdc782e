"""Catch-up: how fast stopped jobs work off a backlog, and what CPU that takes.

Command: python -m bench.catch_up [--jobs ad_ctr,client_spend | --alone JOB] [--records N] [--no-produce] [--json]
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Annotated, Any

import typer

from bench import batches, load, report
from bench.cpu import CpuMeter
from bench.live import Database, Version
from cli import lifecycle_verbs
from cli.entry import settings
from cli.follow import Outcome
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from oracle.topic import KafkaTopic
from traffic.sources import seconds_of

POLL_SECONDS = 0.25
REASON = "bench.catch_up"
Verb = Callable[[Settings, list[str], str | None], list[Outcome]]


class VerbFailed(Refusal):
    """A job could not be stopped or started."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"{sentence} './kappa status' shows which jobs run now; the bench measured nothing more.")


class TooSlow(Refusal):
    """The backlog was not worked off in time."""

    def __init__(self, jobs: Iterable[str], seconds: float) -> None:
        super().__init__(f"{', '.join(jobs)} did not reach the end of the log within {seconds:.0f} s; left running.")


def main(
    jobs: Annotated[str, typer.Option(help="Jobs that catch up together, by commas.")] = "ad_ctr,client_spend",
    alone: Annotated[str | None, typer.Option(help="Only this job catches up; all others are stopped.")] = None,
    records: Annotated[int, typer.Option(min=1, help="Records of the backlog.")] = 1_000_000,
    span: Annotated[str, typer.Option(help="Event times of the backlog reach back this far.")] = "110m",
    produce: Annotated[
        bool, typer.Option("--produce/--no-produce", help="Make a backlog, or take what there is.")
    ] = True,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    within: Annotated[float, typer.Option(min=1, help="Seconds after which the bench gives up.")] = 1_800.0,
    as_json: report.Json = False,
) -> None:
    """Stop every running job, make a backlog, start the named jobs and measure until they have read all of it.

    Jobs that ran before and are not measured are started again at the end.
    """
    stack, database = settings(), Database(settings())
    measured = database.live_of([alone] if alone else [job.strip() for job in jobs.split(",")])
    ran = [version.job for version in database.live().values() if version.desired == "running"]
    seed = secrets.randbelow(2**31) if seed is None else seed
    in_turn(stack, lifecycle_verbs.stop_in_place, ran)
    try:
        produced = _produce(stack, seed, records, seconds_of(span)) if produce else None
        outcome = measure(stack, database, measured, within)
    finally:
        in_turn(stack, lifecycle_verbs.start_in_place, [job for job in ran if job not in {v.job for v in measured}])
    _tell({"seed": seed if produce else None, "produced": produced, **outcome}, as_json)


def measure(stack: Settings, database: Database, measured: list[Version], within: float) -> dict[str, Any]:
    """Start these versions at the same time and follow them to the end of the log. Raises VerbFailed, TooSlow."""
    ends = {
        partition: end
        for partition, (_, end) in KafkaTopic(stack.kafka_access(KafkaUser.READER).librdkafka(), stack.topic.name)
        .bounds()
        .items()
    }
    begun_ms = database.now_ms()
    with CpuMeter(stack) as meter, ThreadPoolExecutor(len(measured)) as pool:
        starts = [pool.submit(in_turn, stack, lifecycle_verbs.start_in_place, [version.job]) for version in measured]
        await_end(database, measured, ends, within, starts)
        took = (database.now_ms() - begun_ms) / 1000
        cpu = meter.read()
    return {
        "seconds_from_start_command": round(took, 1),
        "jobs": {version.job: _figures(stack, database, version, begun_ms) for version in measured},
        "cpu_seconds": cpu,
    }


def in_turn(stack: Settings, verb: Verb, jobs: list[str]) -> None:
    """Stop or start jobs in place. Raises VerbFailed."""
    for outcome in verb(stack, jobs, REASON):
        report.say(outcome.sentence)
        if not outcome.success:
            raise VerbFailed(outcome.sentence)


def _produce(stack: Settings, seed: int, records: int, span: float) -> dict[str, Any]:
    report.say(f"producing {records:,} records, seed {seed}")
    played = load.produce(stack, seed, records, span)
    return {"records": played.records, "seconds": round(played.seconds, 1), "kinds": played.kinds}


def await_end(
    database: Database,
    measured: list[Version],
    ends: dict[int, int],
    within: float,
    starts: Sequence[Future[None]] = (),
) -> None:
    """Until all have read up to `ends`. Raises TooSlow, and VerbFailed as soon as a start failed."""
    deadline = time.monotonic() + within
    while left := [version.job for version in measured if not database.has_read(version, ends)]:
        for start in starts:
            if start.done():
                start.result()
        if time.monotonic() > deadline:
            raise TooSlow(left, within)
        time.sleep(POLL_SECONDS)


def _figures(stack: Settings, database: Database, version: Version, begun_ms: float) -> dict[str, Any]:
    """One job's rates, from the moment Spark planned its first batch; from its start where that is not known any more,
    since a checkpoint remembers its newest batches only. None where it had nothing to read."""
    done = batches.since(database, version, begun_ms)
    if not done:
        return {"batches": 0, "records": 0}
    first_ms = batches.planned_ms(stack, version, done[0])
    waited = None if first_ms is None else round((first_ms - begun_ms) / 1000, 1)
    return {"seconds_to_first_batch": waited, **batches.rates(done, begun_ms if first_ms is None else first_ms)}


def _tell(outcome: dict[str, Any], as_json: bool) -> None:
    if as_json:
        report.document(outcome)
        return
    jobs: dict[str, dict[str, Any]] = outcome["jobs"]
    names = list(dict.fromkeys(name for figures in jobs.values() for name in figures))
    rows = [(name.replace("_", " "), *(figures.get(name) for figures in jobs.values())) for name in names]
    report.table(f"catch-up, seed {outcome['seed']}", ("", *jobs), rows)
    report.table("CPU seconds meanwhile", ("group", "seconds"), list(outcome["cpu_seconds"].items()))


if __name__ == "__main__":
    report.run(main)
