"""One job with little and with much state: its catch-up, its live batches, a restart, a start and a rescale of each.

Command: python -m bench.large_state [--sizes 100000,10000000] [--job ad_ctr] [--json]

It needs a new stack, whose jobs have read nothing: what they have is in the state, too.
"""

from __future__ import annotations

import secrets
import time
from typing import Annotated, Any

import typer

from bench import load, report
from bench.catch_up import in_turn, measure
from bench.live import Database, differences
from bench.load import Background, now_ms
from bench.percentiles import summary
from bench.probes import VIEWS, Probing, latencies
from bench.rescale import SPAN_SECONDS, caught_up, rescaled, restarted, with_other_cores
from cli import lifecycle_verbs
from cli.entry import settings
from kappa.core.installation.settings import Settings

LONGEST_SECONDS = 3_600.0
PROBE_MS, POLL_MS = 200.0, 50.0
SETTLE_SECONDS = 30.0
MORE_PARTITIONS, PARTITIONS = 4, 2
"""The rescale, and back to what a job has by default: each size is measured with the same."""


def main(
    sizes: Annotated[str, typer.Option(help="Events in the state, by commas, growing.")] = "100000,10000000",
    job: Annotated[str, typer.Option(help="The job; all others are stopped meanwhile.")] = "ad_ctr",
    backlog: Annotated[int, typer.Option(min=1, help="Records that it catches up with.")] = 500_000,
    rate: Annotated[float, typer.Option(min=1, help="Records per second of the live part.")] = 1_000.0,
    seconds: Annotated[float, typer.Option(min=1, help="Of append to visible, measured.")] = 60.0,
    within: Annotated[float, typer.Option(min=1, help="Seconds after which a catch-up is given up.")] = 3_600.0,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Reconcile the job at the end.")] = True,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Fill the state to each size, and measure; exit 1 at any difference."""
    stack, seed = settings(), secrets.randbelow(2**31) if seed is None else seed
    database = Database(stack)
    database.live_of([job])
    others = [live.job for live in database.live().values() if live.desired == "running" and live.job != job]
    in_turn(stack, lifecycle_verbs.stop_in_place, others)
    report.say(f"seed {seed}")
    found: dict[int, dict[str, Any]] = {}
    try:
        for number, size in enumerate(int(size) for size in sizes.split(",")):
            _fill(stack, database, job, seed + 10 * number, size - max(found, default=0), within)
            report.say(f"{size:,} events in the state")
            found[size] = {
                **_caught_up(stack, database, job, (seed + 10 * number + 1, backlog, backlog / rate), within),
                **_caught_up(stack, database, job, (seed + 10 * number + 2, backlog, SPAN_SECONDS), within),
                **_live(stack, database, job, (seed + 10 * number + 3, rate, seconds)),
            }
            report.say(str(found[size]))
        verdict = differences(stack, job) if check else None
    finally:
        in_turn(stack, lifecycle_verbs.start_in_place, others)
    _tell({"seed": seed, "job": job, "sizes": found, "differences": verdict}, as_json)
    if verdict:
        raise typer.Exit(1)


def _fill(stack: Settings, database: Database, job: str, seed: int, events: int, within: float) -> None:
    """The state grows by so many events, with all that a topic may hold among them."""
    load.produce(stack, seed, events, SPAN_SECONDS)
    time.sleep(SETTLE_SECONDS)
    caught_up(database, [job], within)


def _caught_up(
    stack: Settings, database: Database, job: str, traffic: tuple[int, int, float], within: float
) -> dict[str, float | None]:
    """A stopped job starts, and works off a backlog of (seed, records, seconds that the event times reach back).

    Spread over as long a time as the state, each record meets another window with all that is in that. What comes in a
    stop is younger than the state.
    """
    seed, backlog, span = traffic
    in_turn(stack, lifecycle_verbs.stop_in_place, [job])
    load.produce(stack, seed, backlog, span)
    outcome = measure(stack, database, database.live_of([job]), within)
    figures = outcome["jobs"][job]
    cpu = sum(seconds for group, seconds in outcome["cpu_seconds"].items() if job in group or "workers" in group)
    name = f"catch-up over {span:g} s"
    return {
        f"{name}, records/s": figures["records_per_second"],
        f"{name}, warm records/s": figures["warm_records_per_second"],
        f"{name}, start to the first batch, s": figures["seconds_to_first_batch"],
        f"{name}, records per CPU second": round(backlog / cpu),
    }


def _live(stack: Settings, database: Database, job: str, traffic: tuple[int, float, float]) -> dict[str, float | None]:
    """Append to visible under traffic (seed, records/s, seconds), then the pauses of changes, there and back."""
    seed, rate, seconds = traffic
    with Background(stack, seed, rate, LONGEST_SECONDS):
        caught_up(database, [job])
        probing = Probing(stack, PROBE_MS, POLL_MS, {job: VIEWS[job]})
        with probing:
            time.sleep(SETTLE_SECONDS)
            begun = now_ms()
            time.sleep(seconds)
        waited = summary(latencies(probing.prober.appended, probing.readers[job].seen, begun))
        pauses = {
            "restart in place, other cores, s": with_other_cores(stack, database, job),
            "restart in place, the same as before, s": with_other_cores(stack, database, job),
            "stop and start, s": restarted(stack, database, job),
            "rescale to 4 partitions, s": rescaled(stack, database, job, "partitions", MORE_PARTITIONS),
            "rescale to 2 partitions, s": rescaled(stack, database, job, "partitions", PARTITIONS),
        }
    visible = {f"append to visible {name}, ms": waited[name] for name in ("p50", "p99", "max")}
    groups = pauses["rescale to 2 partitions, s"]["groups"]
    return {**visible, **{name: pause["pause_s"] for name, pause in pauses.items()}, "groups in the state": groups}


def _tell(outcome: dict[str, Any], as_json: bool) -> None:
    if as_json:
        report.document(outcome)
        return
    sizes: dict[int, dict[str, float | None]] = outcome["sizes"]
    least, most = sizes[min(sizes)], sizes[max(sizes)]
    rows = []
    for name, first in least.items():
        last = most[name]
        rows.append((name, *(of[name] for of in sizes.values()), last / first if first and last else None))
    columns = ("", *(f"{size:,} events" for size in sizes), "x")
    report.table(f"{outcome['job']} by its state, seed {outcome['seed']}", columns, rows)
    if outcome["differences"] is not None:
        report.say(f"{outcome['differences']} differences")


if __name__ == "__main__":
    report.run(main)
