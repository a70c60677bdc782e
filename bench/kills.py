"""Faults under load: kill -9 of processes at random moments and a `down` / `up` in the middle, then a reconciliation.

Command: python -m bench.kills [--times 5] [--victim executor] [--rate 500] [--seed N] [--json]; exit 1 at any
difference or lost driver.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections import defaultdict
from typing import Annotated, Any

import typer

from bench import report
from bench.live import Database, Version, kappa
from bench.load import Background
from bench.percentiles import summary
from bench.victims import OF_THE_DRIVER, Target, pause_seconds, recovery_seconds, schedule, strike
from cli.entry import settings
from kappa.core.installation.settings import Settings

LONGEST_HOURS = 3
RECONCILE_WAIT = "300"


def main(
    times: Annotated[int, typer.Option(min=1, help="Kills of each process of each job.")] = 5,
    jobs: Annotated[str, typer.Option(help="Jobs whose drivers are killed, by commas.")] = "ad_ctr,client_spend",
    victim: Annotated[list[Target] | None, typer.Option(help="Default: python and jvm; once for each.")] = None,
    rate: Annotated[float, typer.Option(min=0.1, help="Records per second meanwhile, of every kind.")] = 500.0,
    least: Annotated[float, typer.Option(min=0, help="Least seconds between a recovery and the next kill.")] = 3.0,
    most: Annotated[float, typer.Option(min=0, help="Most seconds between them.")] = 15.0,
    within: Annotated[float, typer.Option(min=1, help="Seconds after which a driver counts as lost.")] = 240.0,
    restart: Annotated[bool, typer.Option("--restart/--no-restart", help="`down` and `up` in the middle.")] = True,
    seed: Annotated[int | None, typer.Option(min=0, help="Of traffic and moments; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Kill processes of each job under load, take the stack down and up, and reconcile."""
    stack = settings()
    seed = secrets.randbelow(2**31) if seed is None else seed
    report.say(f"seed {seed}")
    names = [job.strip() for job in jobs.split(",")]
    Database(stack).live_of(names)
    rng = random.Random(seed)
    order = schedule(names, victim or OF_THE_DRIVER, times, rng)
    half = len(order) // 2 if restart else len(order)
    with Background(stack, seed, rate, LONGEST_HOURS * 3600) as background:
        kills = _rounds(stack, order[:half], rng, (least, most), within)
        restarted = _down_up(stack) if restart else None
        kills += _rounds(stack, order[half:], rng, (least, most), within)
    played = background.played
    sent = {"records": played.records, "failed": played.failed} if played else {}
    verdict = json.loads(kappa(stack, "reconcile", "--json", "--wait", RECONCILE_WAIT, accept=(0, 1)) or "null")
    outcome = {"seed": seed, "rate": rate, "produced": sent, "kills": kills, "restart": restarted, "verdict": verdict}
    _tell(outcome, as_json)
    if not clean(kills, verdict):
        raise typer.Exit(1)


def clean(kills: list[dict[str, Any]], verdict: dict[str, Any] | None) -> bool:
    """Every driver came back, everything was read, and nothing differs."""
    if verdict is None or verdict["difference_count"]:
        return False
    return all(job["unread"] == 0 for job in verdict["jobs"]) and all(k["seconds"] is not None for k in kills)


def _rounds(
    stack: Settings, order: list[tuple[str, Target]], rng: random.Random, span: tuple[float, float], within: float
) -> list[dict[str, Any]]:
    """One kill after the other, each at a random moment after the last recovery."""
    database, done = Database(stack), []
    earlier: defaultdict[str, list[float]] = defaultdict(list)
    for job, target in order:
        (version,) = database.live_of([job])
        time.sleep(pause_seconds(earlier[job], time.time() * 1000, stack.supervision) + rng.uniform(*span))
        done.append(_one(stack, database, version, target, within))
        earlier[job].append(done[-1]["at_ms"])
    database.close()
    return done


def _one(stack: Settings, database: Database, version: Version, target: Target, within: float) -> dict[str, Any]:
    kill = strike(stack, database, version, target, within)
    seconds = recovery_seconds(database, version, kill, within)
    came = "did not come back" if seconds is None else f"stood still for {seconds} s"
    report.say(f"killed {target} of {version.job} (pid {kill.pid}): {came}")
    return {"job": kill.job, "target": str(kill.target), "at_ms": round(kill.at_ms), "seconds": seconds}


def _down_up(stack: Settings) -> dict[str, float]:
    """The stack down and up again while the traffic goes on; seconds of each."""
    seconds = {}
    for command in ("down", "up"):
        begun = time.monotonic()
        kappa(stack, command)
        seconds[command] = round(time.monotonic() - begun, 1)
        report.say(f"{command} took {seconds[command]} s")
    return seconds


def _tell(outcome: dict[str, Any], as_json: bool) -> None:
    if as_json:
        report.document(outcome)
        return
    found: defaultdict[tuple[str, str], list[float | None]] = defaultdict(list)
    for kill in outcome["kills"]:
        found[kill["job"], kill["target"]].append(kill["seconds"])
    rows = []
    for (job, target), seconds in sorted(found.items()):
        figures = summary([s for s in seconds if s is not None])
        rows.append((f"{job} {target}", len(seconds), figures["p50"], figures["max"], seconds.count(None)))
    columns = ("killed", "times", "p50", "max", "lost")
    report.table(f"seconds that the job stood still, seed {outcome['seed']}", columns, rows)
    verdict = outcome["verdict"]
    report.say("reconcile said nothing" if verdict is None else f"{verdict['difference_count']} differences")


if __name__ == "__main__":
    report.run(main)
