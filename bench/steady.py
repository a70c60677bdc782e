"""A long while of steady traffic: append to visible of both jobs by spans, evictions marked, and memory at both ends.

Command: python -m bench.steady [--rate 1000] [--seconds 3600] [--every 300] [--json]

A driver evicts once 0.8 to 1 of its watermark's delay has passed, which with two hours of allowed lateness
is longer than an hour. To see evictions, and their pauses:
./kappa deploy ad_ctr client_spend --set allowed_lateness_ms=900000
"""

from __future__ import annotations

import contextlib
import secrets
import time
import urllib.request
from typing import Annotated, Any

import typer
from prometheus_client.parser import text_string_to_metric_families

from bench import report
from bench.groups import Applications
from bench.live import Database, differences
from bench.load import Background, now_ms
from bench.memory import by_group
from bench.percentiles import summary
from bench.probes import GRACE_SECONDS, VIEWS, Probing, latencies
from cli.entry import settings
from kappa.core.installation.addresses import DRIVER_PORTS
from kappa.core.installation.settings import Settings
from kappa.core.metrics import DRIVER_EVICTIONS
from stack.footprint import memory_by_process

_BATCHES = """
select job, count(*), coalesce(sum(read), 0)::bigint from ops.batches
where committed_at >= to_timestamp(%s / 1000.0) and committed_at < to_timestamp(%s / 1000.0) group by job
"""
ANSWERS_WITHIN = 2.0


def main(
    rate: Annotated[float, typer.Option(min=1, help="Records per second.")] = 1_000.0,
    seconds: Annotated[float, typer.Option(min=10, help="How long, after the warm-up.")] = 3_600.0,
    every: Annotated[float, typer.Option(min=5, help="Seconds of a span.")] = 300.0,
    warm_up: Annotated[float, typer.Option(min=0, help="Seconds before the first span.")] = 60.0,
    probe_ms: Annotated[float, typer.Option(min=1, help="Time between two probes.")] = 300.0,
    poll_ms: Annotated[float, typer.Option(min=1, help="A reader looks this often: the measure's resolution.")] = 50.0,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Reconcile at the end.")] = True,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Play traffic for a while and tell of each span what its probes waited; exit 1 at any difference."""
    stack, seed = settings(), secrets.randbelow(2**31) if seed is None else seed
    database = Database(stack)
    database.live_of(list(VIEWS))
    report.say(f"{rate:g} records/s for {seconds:g} s, seed {seed}")
    spans: list[dict[str, Any]] = []
    probing = Probing(stack, probe_ms, poll_ms)
    with Background(stack, seed, rate, warm_up + seconds + GRACE_SECONDS) as background, probing:
        time.sleep(warm_up)
        memory = {"at the start": _memory(stack)}
        begun, before = now_ms(), evictions(stack)
        for number in range(1, round(seconds / every) + 1):
            time.sleep(max(0.0, begun / 1000 + number * every - time.time()))
            after = evictions(stack)
            spans.append({"from_ms": begun + (number - 1) * every * 1000, "until_ms": begun + number * every * 1000})
            spans[-1]["evictions"] = {job: after.get(job, 0) - before.get(job, 0) for job in VIEWS}
            report.say(f"{number * every:g} s: {spans[-1]['evictions']} evictions")
            before = after
        memory["at the end"] = _memory(stack)
    found = [_span(probing, database, span) for span in spans]
    played = background.played
    about = {
        "seed": seed, "rate": rate, "every": every, "memory_mb": memory,
        "behind_s": None if played is None else round(played.behind_s, 3),
        "differences": differences(stack) if check else None,
    }  # fmt: skip
    _tell(about, found, as_json)
    if about["differences"]:
        raise typer.Exit(1)


def evictions(stack: Settings) -> dict[str, int]:
    """Job -> how often the driver that serves its metrics on this host evicted, since it was started."""
    where, found = stack.metrics, {}
    for port in range(where.first_driver_port, where.first_driver_port + DRIVER_PORTS):
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://{where.address}:{port}/metrics", timeout=ANSWERS_WITHIN) as answer,
        ):
            for family in text_string_to_metric_families(answer.read().decode()):
                for sample in family.samples:
                    if sample.name == DRIVER_EVICTIONS.name:
                        found[sample.labels["job_name"]] = int(sample.value)
    return found


def _memory(stack: Settings) -> dict[str, int]:
    groups = by_group(memory_by_process(stack.home), Applications(stack))
    return {"all": round(sum(size for _, size in groups.values()) / 1e6)} | {
        name: round(size / 1e6) for name, (_, size) in groups.items()
    }


def _span(probing: Probing, database: Database, span: dict[str, Any]) -> dict[str, Any]:
    """What a span's probes waited, by job, beside its batches and evictions."""
    within = (span["from_ms"], span["until_ms"])
    batches = {job: (count, read) for job, count, read in database.rows(_BATCHES, *within)}
    jobs = {}
    for job, reader in probing.readers.items():
        count, read = batches.get(job, (0, 0))
        waited = summary(latencies(probing.prober.appended, reader.seen, *within))
        jobs[job] = {**waited, "evictions": span["evictions"][job], "batches": count, "read": read}
    return {"from_ms": span["from_ms"], "jobs": jobs}


def _tell(about: dict[str, Any], spans: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        report.document({**about, "unit": "ms", "spans": spans})
        return
    for job in VIEWS:
        of_job = [span["jobs"][job] for span in spans]
        rows = [(f"{number * about['every'] / 60:g}", *figures.values()) for number, figures in enumerate(of_job)]
        columns = (f"{job}, min", *(name.replace("_", " ") for name in of_job[0]))
        report.table(f"append -> visible, ms, at {about['rate']:g} records/s, seed {about['seed']}", columns, rows)
    ends = about["memory_mb"]
    names = list(dict.fromkeys(name for end in ends.values() for name in end))
    rows = [(name, *(end.get(name) for end in ends.values())) for name in names]
    report.table("memory (PSS), MB", ("group", *ends), rows)
    if (about["behind_s"] or 0) > 1:
        report.say(f"the producer was up to {about['behind_s']} s behind its schedule")
    if about["differences"] is not None:
        report.say(f"{about['differences']} differences")


if __name__ == "__main__":
    report.run(main)
