"""Latency: from a record's append to the broker until another Postgres connection sees it, under steady traffic.

Command: python -m bench.latency [--rate 1000] [--seconds 300] [--warm-up 30] [--poll-ms 50] [--json]
"""

from __future__ import annotations

import secrets
import time
from typing import Annotated, Any

import typer

from bench import report
from bench.live import Database
from bench.load import Background, now_ms
from bench.percentiles import summary
from bench.probes import GRACE_SECONDS, VIEWS, Prober, Probing, Reader, latencies
from cli.entry import settings


def main(
    rate: Annotated[float, typer.Option(min=0.1, help="Records per second beside the probes.")] = 1_000.0,
    seconds: Annotated[float, typer.Option(min=1, help="How long, warm-up included.")] = 300.0,
    warm_up: Annotated[float, typer.Option(min=0, help="Probes of the first seconds do not count.")] = 30.0,
    poll_ms: Annotated[float, typer.Option(min=1, help="A reader looks this often: the measure's resolution.")] = 50.0,
    probe_ms: Annotated[float, typer.Option(min=1, help="Time between two probes.")] = 200.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Play traffic and measure append -> visible of both jobs by probes and readers that poll as kappa_reader."""
    stack = settings()
    Database(stack).live_of(list(VIEWS))
    seed = secrets.randbelow(2**31) if seed is None else seed
    report.say(f"{rate:g} records/s for {seconds:g} s, seed {seed}")
    probing = Probing(stack, probe_ms, poll_ms)
    with Background(stack, seed, rate, seconds + GRACE_SECONDS) as background, probing:
        from_ms = now_ms() + warm_up * 1000
        time.sleep(seconds)
    jobs = {job: _figures(probing.prober, reader, from_ms) for job, reader in probing.readers.items()}
    played = background.played
    about = {
        "seed": seed, "rate": rate, "seconds": seconds, "warm_up": warm_up, "poll_ms": poll_ms,
        "behind_s": None if played is None else round(played.behind_s, 3),
        "failed": None if played is None else played.failed,
    }  # fmt: skip
    _tell(about, jobs, as_json)


def _figures(prober: Prober, reader: Reader, from_ms: float) -> dict[str, Any]:
    measured = latencies(prober.appended, reader.seen, from_ms)
    missing = sum(at >= from_ms and name not in reader.seen for name, at in prober.appended.items())
    return {**summary(measured), "missing": missing, "query_p50": summary(reader.query_ms)["p50"]}


def _tell(about: dict[str, Any], jobs: dict[str, dict[str, Any]], as_json: bool) -> None:
    if as_json:
        report.document({**about, "unit": "ms", "jobs": jobs})
        return
    columns = list(next(iter(jobs.values())))
    title = f"append -> visible, ms, at {about['rate']:g} records/s; resolution {about['poll_ms']:g} ms and a query"
    report.table(title, ("job", *columns), [(job, *(figures[c] for c in columns)) for job, figures in jobs.items()])
    if about["failed"] or (about["behind_s"] or 0) > 1:
        report.say(f"the producer was up to {about['behind_s']} s behind its schedule; {about['failed']} not delivered")


if __name__ == "__main__":
    report.run(main)
