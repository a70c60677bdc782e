"""The job `ad_ctr` by Flink SQL, Kafka Streams, one Python thread and ours: one engine at a time, one table.

Command: python -m bench.peers [--engines python,streams,flink_1s,flink_10s,ours|ours_both] [--records N] [--json]
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, TypeVar

import typer

from bench import load, report
from bench.catch_up import await_end, in_turn
from bench.live import Database
from bench.peers import flink, kafka_streams, python_thread, tables
from bench.peers.calibration import Noise, Round, calibrate, noise
from bench.peers.engines import Engine
from bench.peers.expected import Stretch, ends, expected
from bench.peers.figures import COLUMNS, LEGEND, Measured, table
from bench.peers.measure import Lived, Traffic, Worked, catch_up, live
from bench.peers.own import Own
from cli import lifecycle_verbs
from cli.entry import settings
from kappa.core.installation.settings import Settings
from kappa.core.refusals import Refusal
from traffic.sources import seconds_of

BOTH = "ours_both"
ENGINES: dict[str, Callable[[Settings], Engine]] = {
    "python": lambda _: python_thread.ENGINE,
    "streams": lambda _: kafka_streams.ENGINE,
    "flink_1s": lambda _: flink.engine(1),
    "flink_10s": lambda _: flink.engine(10),
    "ours": Own,
    BOTH: partial(Own, with_spend=True),
}
ONE_BY_ONE = ",".join(name for name in ENGINES if name != BOTH)
SPAN = "110m"
Part = TypeVar("Part", Worked, Lived)
LAG_SECONDS = 300.0


class UnknownEngine(Refusal):
    """No engine has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"--engines {name}: there are {', '.join(ENGINES)}. Nothing was started.")


class OursTwice(Refusal):
    """Our jobs can work off a backlog only once: what they have read they do not read again."""

    def __init__(self) -> None:
        super().__init__(f"--engines may have ours or {BOTH}, not both: a backlog is new to them once. Run it twice.")


def main(
    engines: Annotated[
        str, typer.Option(help=f"Which, and in which order, by commas; {BOTH} has client_spend beside ad_ctr.")
    ] = ONE_BY_ONE,
    records: Annotated[int, typer.Option(min=1, help="Records of the backlog.")] = 1_000_000,
    rate: Annotated[float, typer.Option(min=0.1, help="Records per second of the steady traffic.")] = 1_000.0,
    seconds: Annotated[float, typer.Option(min=1, help="How long latencies count.")] = 120.0,
    warm_up: Annotated[float, typer.Option(min=0, help="Seconds of traffic before that.")] = 30.0,
    kill: Annotated[bool, typer.Option("--kill/--no-kill", help="kill -9 at the end of the traffic.")] = True,
    within: Annotated[float, typer.Option(min=1, help="Seconds after which an engine is given up.")] = 600.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Stop all jobs, and have each engine do the same work on the same broker, topic and database in turn.

    First each works off the same backlog from nothing, then each has steady traffic with probes and a kill -9. What it
    shows is compared with the oracle both times. Jobs that ran before are started again at the end. Exit 1 where an
    engine failed, or shows a wrong row.
    """
    stack = settings()
    chosen = _chosen(stack, engines)
    seed = secrets.randbelow(2**31) if seed is None else seed
    for engine in chosen:
        engine.prepare(stack)
    report.say(f"seed {seed}")
    database = Database(stack)
    ran = [version.job for version in database.live().values() if version.desired == "running"]
    # So that our jobs begin with the backlog, as the others do.
    ours = [job for engine in chosen if isinstance(engine, Own) for job in engine.jobs]
    await_end(database, database.live_of(ours), ends(stack), LAG_SECONDS)
    in_turn(stack, lifecycle_verbs.stop_in_place, ran)
    try:
        stretch = _backlog(stack, seed, records)
        traffic = Traffic(rate, seconds, warm_up, seed + 1)
        measured, heard = _all(stack, chosen, stretch, traffic, kill, within)
    finally:
        tables.remove(stack)
        kafka_streams.remove(stack)
        in_turn(stack, lifecycle_verbs.start_in_place, ran)
    _tell(measured, heard, {"seed": seed, "records": stretch.records, "rate": rate, "seconds": seconds}, as_json)
    if any(each.differences != 0 for each in measured):
        raise typer.Exit(1)


def _chosen(stack: Settings, engines: str) -> list[Engine]:
    names = [name.strip() for name in engines.split(",")]
    if unknown := [name for name in names if name not in ENGINES]:
        raise UnknownEngine(", ".join(unknown))
    if {"ours", BOTH} <= set(names):
        raise OursTwice
    return [ENGINES[name](stack) for name in names]


def _backlog(stack: Settings, seed: int, records: int) -> Stretch:
    starts = ends(stack)
    report.say(f"producing {records:,} records")
    load.produce(stack, seed, records, seconds_of(SPAN))
    return Stretch(starts, ends(stack))


def _all(
    stack: Settings, engines: list[Engine], stretch: Stretch, traffic: Traffic, kill: bool, within: float
) -> tuple[list[Measured], Noise]:
    """Every engine's backlog first, since their traffic makes the log longer; the machine is asked before each."""
    rows, heard = expected(stack, stretch), list[list[Round]]()
    worked, lived = list[Worked | None](), list[Lived | None]()
    for engine in engines:
        heard.append(calibrate())
        report.say(f"{engine.name}: {stretch.records:,} records from nothing")
        worked.append(_tried(engine, partial(catch_up, stack, engine, stretch, rows, within)))
    for engine in engines:
        heard.append(calibrate())
        report.say(f"{engine.name}: {traffic.rate:g} records/s for {traffic.warm_up + traffic.seconds:g} s")
        lived.append(_tried(engine, partial(live, stack, engine, traffic, kill, within)))
    heard.append(calibrate())
    return [_measured(*each) for each in zip(engines, worked, lived, strict=True)], noise(heard)


def _tried(engine: Engine, measure: Callable[[], Part]) -> Part | None:
    """What one engine fails of costs its own figures, not those of the others."""
    try:
        return measure()
    except Refusal as refusal:
        report.say(f"{engine.name}: {refusal}")
        return None


def _measured(engine: Engine, worked: Worked | None, lived: Lived | None) -> Measured:
    parts = [part for part in (worked, lived) if part is not None]
    return Measured(
        engine.name,
        worked.catch_up if worked else None,
        lived.live if lived else None,
        max((part.peak_bytes for part in parts), default=0),
        sum(part.differences for part in parts) if len(parts) == 2 else None,
        worked.groups if worked else {},
    )


def _tell(measured: list[Measured], heard: Noise, about: dict[str, Any], as_json: bool) -> None:
    rows = table(measured)
    if as_json:
        figures = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        whole = {"table": figures, "noise": asdict(heard), "engines": [asdict(each) for each in measured]}
        report.document({**about, **whole})
    else:
        report.table(f"{about['records']:,} records, then {about['rate']:g}/s, seed {about['seed']}", COLUMNS, rows)
        report.say(LEGEND)
    for each in measured:
        if each.live and each.live.missing:
            report.say(f"{each.engine}: {each.live.missing} probes were never seen, so its latencies are too good.")
    report.say(heard.sentence())


if __name__ == "__main__":
    report.run(main)
