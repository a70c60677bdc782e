"""A replay of both jobs beside live traffic: its speed, what it costs the live jobs, the hand-over, and the way back.

Command: python -m bench.replay [--records 2000000] [--rate 1000] [--read-rate 5000] [--cores 1] [--json]

Compared are only windows that are final: their age must exceed the jobs' allowed lateness by two minutes. The event
times of the records reach back as far as that lateness allows (`--span`), so of two hours the first windows are
final after ten minutes, and the bench waits for `--compare` minutes of them. To compare more rows in less time:
./kappa deploy ad_ctr client_spend --set allowed_lateness_ms=300000

Ended before its end, it leaves the replay to Airflow, which goes on with it up to the question.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from bench import batches, load, replay_report, replays, report
from bench.batches import Batch
from bench.catch_up import in_turn, measure
from bench.live import Database, Version, differences, kappa
from bench.load import Background
from bench.percentiles import summary
from bench.probes import Probing, latencies
from bench.replays import REASON, Replayed
from bench.serving_reader import JOBS, Answer, ServingReader, longest_gap_s, moves
from cli import lifecycle_verbs
from cli.entry import settings
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal

LONGEST_HOURS = 2
SETTLE_SECONDS = 15.0
LONGEST_SPAN = 110 * 60.0
SPARE_SECONDS = 30.0
"""The oldest records are so much younger than is allowed: they take a while to be sent."""
PROBE_MS, POLL_MS = 200.0, 50.0
ROLLBACK_SPAN = 60.0
_LATENESS = """
select min((settings ->> 'allowed_lateness_ms')::bigint)::float8 / 1000 from ops.versions
where (job, version) in (select job, version from ops.segments where to_window = 'infinity') and job = any(%s)
"""
_FINAL = "select extract(epoch from min(complete_through))::float8 * 1000 from serving.freshness where job = any(%s)"
_RELEASE = """
select evidence, extract(epoch from promoted_at)::float8 * 1000 from ops.releases order by release_id desc limit 1
"""


class NeverFinal(Refusal):
    """There is nothing that can be compared."""

    def __init__(self, minutes: float, waited: float) -> None:
        super().__init__(
            f"no {minutes:g} minutes of windows were final in both jobs after {waited:.0f} s; nothing was replayed. "
            f"Deploy the jobs with a shorter allowed_lateness_ms, or wait longer (--within)."
        )


def main(
    records: Annotated[int, typer.Option(min=1, help="Records before; the jobs catch up with them first.")] = 2_000_000,
    rate: Annotated[float, typer.Option(min=1, help="Records per second that arrive meanwhile.")] = 1_000.0,
    read_rate: Annotated[int, typer.Option(min=0, help="Most records/s of each candidate; 0: no limit.")] = 5_000,
    cores: Annotated[int, typer.Option(min=1, help="Cores of each candidate.")] = 1,
    before: Annotated[float, typer.Option(min=1, help="Seconds of the measure before the replay.")] = 120.0,
    compare: Annotated[float, typer.Option(min=1, help="Minutes of final windows to wait for.")] = 3.0,
    span: Annotated[float, typer.Option(min=0, help="Seconds the event times reach back; 0: as allowed.")] = 0.0,
    more: Annotated[int, typer.Option(min=0, help="New records before the roll-back; 0: no roll-back.")] = 5_000,
    look_ms: Annotated[float, typer.Option(min=1, help="The reader of the views looks this often.")] = 200.0,
    clients: Annotated[int, typer.Option(min=1, help="It adds up so many clients, the busiest.")] = 5,
    within: Annotated[float, typer.Option(min=1, help="Seconds after which a wait gives up.")] = 1_800.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Preload, then replay both jobs in one release under load, promote them, and roll back; reconcile at the end."""
    stack = settings()
    database, seed = Database(stack), secrets.randbelow(2**31) if seed is None else seed
    report.say(f"seed {seed}")
    span = span or span_seconds(float(database.rows(_LATENESS, list(JOBS))[0][0] or 0))
    options = ("--cores", str(cores), *(("--rate", str(read_rate)) if read_rate else ()))
    oldest_ms, live = _preload(stack, database, seed, records, span, within)
    about = {"seed": seed, "records": records, "rate": rate, "read_rate": read_rate, "cores": cores, "span_s": span}
    probing = Probing(stack, PROBE_MS, POLL_MS)
    with ServingReader(stack, look_ms, clients) as reader:
        with Background(stack, seed + 1, rate, LONGEST_HOURS * 3600), probing:
            time.sleep(SETTLE_SECONDS)
            begun_ms = database.now_ms()
            time.sleep(before)
            _await_final(database, oldest_ms + compare * 60_000, compare, within)
            done = replays.measured(stack, database, JOBS, options)
        ((evidence, promoted_ms),) = database.rows(_RELEASE)
        back = _rollback(stack, database, seed + 2, more) if more else None
    found = {**about, "live": live, **_replayed(stack, database, done, begun_ms, probing, live)}
    found |= {"hand_over_s": evidence["hand_over_seconds"], "reader": seen(reader.answers, promoted_ms)}
    found |= {"rollback": back, "differences_by_reconcile": differences(stack)}
    report.document(found) if as_json else replay_report.tell(found)
    if found["differences_by_reconcile"]:
        raise typer.Exit(1)


def span_seconds(lateness_s: float) -> float:
    """How far back the event times reach, for none to be late once it is sent."""
    return min(LONGEST_SPAN, max(60.0, lateness_s - SPARE_SECONDS))


def seen(answers: list[Answer], promoted_ms: float) -> dict[str, Any]:
    """What the reader of the views went through: how often it looked, its longest gaps, other versions."""
    near = [answer for answer in answers if abs(answer.at_ms - promoted_ms) <= 10_000]
    return {
        "answers": len(answers), "longest_gap_s": longest_gap_s(answers),
        "longest_gap_s_at_the_promotion": longest_gap_s(near), "other_versions": moves(answers),
    }  # fmt: skip


def _preload(
    stack: Settings, database: Database, seed: int, records: int, span: float, within: float
) -> tuple[float, dict[str, Any]]:
    """The event time of the oldest record (epoch ms), and how fast each live job caught up."""
    versions = database.live_of(JOBS)
    in_turn(stack, lifecycle_verbs.stop_in_place, list(JOBS))
    oldest_ms = load.now_ms() - span * 1000
    report.say(f"producing {records:,} records over {span:.0f} s")
    load.produce(stack, seed, records, span)
    jobs = measure(stack, database, versions, within)["jobs"]
    names = ("records", "records_per_second", "warm_records_per_second")
    return oldest_ms, {job: {name: figures.get(name) for name in names} for job, figures in jobs.items()}


def _await_final(database: Database, through_ms: float, minutes: float, within: float) -> None:
    """Until the windows up to that moment are final in both jobs. Raises NeverFinal."""
    deadline = time.monotonic() + within
    while (database.rows(_FINAL, list(JOBS))[0][0] or 0) < through_ms:
        if time.monotonic() > deadline:
            raise NeverFinal(minutes, within)
        time.sleep(1)


def _replayed(
    stack: Settings, database: Database, done: Replayed, begun_ms: float, probing: Probing, live: dict[str, Any]
) -> dict[str, Any]:
    """Speed of each candidate, latency of the live jobs by phase, and what the validation compared."""
    launched = done.marks["reprocess.launched"]
    read_of = {
        job: replays.worked_off(batches.since(database, Version(job, number, 0, "running"), launched), done.expected)
        for job, number in done.versions.items()
    }
    first_ms = min(seen[0].committed_ms for seen in read_of.values())
    read_ms = max(seen[-1].committed_ms for seen in read_of.values())
    spans = replays.phases(begun_ms, done.marks, first_ms, read_ms)
    waits = {
        phase: {
            job: summary(latencies(probing.prober.appended, seen.seen, *ends)) for job, seen in probing.readers.items()
        }
        for phase, ends in spans.items()
    }
    speeds, valid = {job: speed(seen, launched, live[job]) for job, seen in read_of.items()}, done.validation
    return {
        "replay": speeds, "latency_ms": waits, "p99_ratio": ratios(waits),
        "seconds": {phase: round((until - since) / 1000, 1) for phase, (since, until) in spans.items()},
        "run_seconds": round((done.marks["release.made"] - done.marks["reprocess.planned"]) / 1000, 1),
        "compared": {c["job"]: c["compared"] for c in valid["comparisons"]}, "valid": valid["success"],
        "validation_s": valid["seconds"], "not_met": [f["says"] for f in valid["results"] if not f["success"]],
    }  # fmt: skip


def speed(seen: Sequence[Batch], launched_ms: float, live: Mapping[str, float | None]) -> dict[str, Any]:
    """A candidate's rates from its launch on, the seconds until its first commit, and how many times as fast as the
    live job it read; both warm, where they read more than one batch."""
    figures = batches.rates(seen, launched_ms)
    warm, warm_live = (of["warm_records_per_second"] or of["records_per_second"] for of in (figures, live))
    starting = {"seconds_to_first_commit": round((seen[0].committed_ms - launched_ms) / 1000, 1)}
    return starting | figures | {"times_live": round(warm / warm_live, 2) if warm and warm_live else None}


def ratios(waits: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    """Each live job's p99 during the replay over that before."""
    pairs = {job: (waits["during"][job]["p99"], figures["p99"]) for job, figures in waits["before"].items()}
    return {job: round(during / before, 2) if during and before else None for job, (during, before) in pairs.items()}


def _rollback(stack: Settings, database: Database, seed: int, records: int) -> dict[str, Any]:
    """New records, then the way back: seconds of the whole command, and of the hand-over."""
    load.produce(stack, seed, records, ROLLBACK_SPAN)
    begun = time.monotonic()
    kappa(stack, "rollback", *JOBS, "--reason", REASON)
    seconds = round(time.monotonic() - begun, 1)
    ((evidence, at_ms),) = database.rows(_RELEASE)
    at = datetime.fromtimestamp(at_ms / 1000).astimezone().isoformat()
    return {"new_records": records, "seconds": seconds, "hand_over_s": evidence["hand_over_seconds"], "at": at}


if __name__ == "__main__":
    report.run(main)
