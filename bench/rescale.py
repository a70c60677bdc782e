"""The pauses of a rescale, of a restart in place and of a stop and a start, under load and with much or little state.

Command: python -m bench.rescale [--events 2000000] [--rate 2000] [--sizes 4,3,1] [--jobs ad_ctr] [--json]
"""

from __future__ import annotations

import secrets
import time
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any

import typer

from bench import report
from bench.live import Database, differences, kappa
from bench.load import KNOBS, Background, produce
from cli.entry import settings
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

SPAN_SECONDS = 110 * 60.0
LONGEST_HOURS = 3
SETTLE_SECONDS = 10.0
MOMENTS = (
    "held",
    "stopped",
    "drained",
    "copied",
    "measured",
    "repartitioned",
    "proved",
    "switched",
    "launched",
    "ready",
)
_CORES = """
select executor_cores from ops.versions v join ops.segments s using (job, version)
where job = %s and s.to_window = 'infinity'"""
_STATE = "select coalesce(max(state_rows), 0)::bigint from ops.drivers where job = %s"


class SameSize(Refusal):
    """A rescale to the size that the job has already."""

    def __init__(self, job: str, what: str, size: int) -> None:
        super().__init__(f"{job} has {size} {what} already, so there is no pause to measure: give other --sizes.")


def main(
    events: Annotated[int, typer.Option(min=0, help="Records put into the state before.")] = 2_000_000,
    rate: Annotated[float, typer.Option(min=1, help="Records per second meanwhile.")] = 2_000.0,
    sizes: Annotated[str, typer.Option(help="State partitions to go through, by commas.")] = "4,3,1",
    jobs: Annotated[str, typer.Option(help="Jobs, one after the other, by commas.")] = "ad_ctr,client_spend",
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Reconcile at the end.")] = True,
    as_json: report.Json = False,
) -> None:
    """Preload; then under load a stop and start, a rescale of the cores alone and one to each size: gaps of commits."""
    stack = settings()
    seed = secrets.randbelow(2**31) if seed is None else seed
    report.say(f"seed {seed}")
    names = [job.strip() for job in jobs.split(",")]
    database = Database(stack)
    database.live_of(names)
    if events:
        produce(stack, seed, events, SPAN_SECONDS)
        caught_up(database, names)
    rows: list[dict[str, Any]] = []
    with Background(stack, seed + 1, rate, LONGEST_HOURS * 3600, KNOBS):
        time.sleep(SETTLE_SECONDS)
        for job in names:
            rows.append(restarted(stack, database, job))
            rows.append(with_other_cores(stack, database, job))
            rows += [rescaled(stack, database, job, "partitions", int(size)) for size in sizes.split(",")]
    verdict = differences(stack) if check else None
    _tell({"seed": seed, "events": events, "rate": rate, "runs": rows, "differences": verdict}, as_json)
    if verdict:
        raise typer.Exit(1)


def restarted(stack: Settings, database: Database, job: str) -> dict[str, Any]:
    """The pause of a cooperative stop and a cold start."""
    since = database.now_ms()
    for verb in ("stop", "start"):
        kappa(stack, verb, job, "--without-airflow", "--reason", "bench")
    return {**_measured(database, job, "stop, start", since), "parts": {}}


def with_other_cores(stack: Settings, database: Database, job: str) -> dict[str, Any]:
    """The pause of a restart in place that leaves the state where it is: the next driver stands by."""
    ((cores,),) = database.rows(_CORES, job)
    return rescaled(stack, database, job, "cores", 1 if cores > 1 else 2)


def rescaled(stack: Settings, database: Database, job: str, what: str, size: int) -> dict[str, Any]:
    """The pause of a rescale, with its parts. Raises SameSize: what does nothing has none."""
    since = database.now_ms()
    kappa(stack, "rescale", job, f"--{what}", str(size), "--reason", "bench")
    marks = database.newest_marks(job)
    if marks is None or datetime.fromisoformat(marks["held"]).timestamp() * 1000 < since:
        raise SameSize(job, what, size)
    return {**_measured(database, job, f"{what} {size}", since), "parts": parts(marks)}


def _measured(database: Database, job: str, what: str, since_ms: float) -> dict[str, Any]:
    """Wait until commits are regular again, then take the longest gap."""
    caught_up(database, [job])
    time.sleep(SETTLE_SECONDS)
    gap = database.longest_gap_s(job, since_ms)
    ((groups,),) = database.rows(_STATE, job)
    report.say(f"{job} {what}: {gap:.1f} s between commits, {groups:,} groups in state")
    return {"job": job, "what": what, "pause_s": round(gap, 1), "groups": groups}


def parts(marks: dict[str, str]) -> dict[str, float]:
    """Seconds from each moment of a change to the next, named by the later one."""
    times = [(name, datetime.fromisoformat(marks[name])) for name in MOMENTS if name in marks]
    return {later: round((at - before).total_seconds(), 1) for (_, before), (later, at) in pairwise(times)}


def caught_up(database: Database, jobs: list[str], seconds: float = 1800) -> None:
    """Wait until the jobs are less than 10 s behind, or for so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = database.rows("select coalesce(max(lag_seconds), 0) from ops.reach where job = any(%s)", jobs)
        if found[0][0] < 10:
            return
        time.sleep(1)


def _tell(outcome: dict[str, Any], as_json: bool) -> None:
    if as_json:
        report.document(outcome)
        return
    rows = [
        (r["job"], r["what"], r["pause_s"], r["groups"], " ".join(f"{k} {v}" for k, v in r["parts"].items()))
        for r in outcome["runs"]
    ]
    report.table(f"pause, seed {outcome['seed']}", ("job", "what", "s", "groups", "parts, s"), rows)
    if outcome["differences"] is not None:
        report.say(f"{outcome['differences']} differences")


if __name__ == "__main__":
    report.run(main)
