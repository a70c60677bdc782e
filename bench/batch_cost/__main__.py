"""What a second of live traffic costs the jobs' queries: their processor time by where it goes, and how long a batch
takes, for several ways to run them beside one another's figures.

Command: python -m bench.batch_cost [--ways apart,together] [--code before=FOLDER] [--rate 1000] [--seconds 60] [--json]
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from bench import report
from bench.live import CommandFailed, Database
from bench.load import Background
from cli.entry import CHECKOUT, settings
from kappa.core import job_catalog
from kappa.core.installation.settings import Settings, variables
from kappa.core.refusals import Refusal
from kappa.core.spark_environment import environment
from kappa.verbs.drivers.size import size_of
from kappa.verbs.drivers.submission import JVM_OPTIONS, archived, jars

PROGRAM = Path(__file__).resolve().parent / "live_queries.py"
JOBS = ("ad_ctr", "client_spend")
_OTHERS = "-XX:+ExitOnOutOfMemoryError -XX:MetaspaceSize=64m"
_TIERS = JVM_OPTIONS[JVM_OPTIONS.index("-XX:Tier4") :]
START_SECONDS = 120.0


@dataclass(frozen=True)
class Way:
    """A way to run the jobs: in one driver or in one each, by these options of the JVM, settings and code."""

    together: bool = False
    java: str = JVM_OPTIONS
    settings: Mapping[str, int] = field(default_factory=dict)
    heap_x: float = 1.0


WAYS = {
    "apart": Way(),
    "together": Way(together=True),
    "together, twice the heap": Way(together=True, heap_x=2),
    "one core": Way(settings={"executor_cores": 1}),
    "one state partition": Way(settings={"state_partitions": 1}),
    "G1": Way(java=f"-XX:+UseG1GC {_OTHERS} {_TIERS}"),
    "Parallel": Way(java=f"-XX:+UseParallelGC {_OTHERS} {_TIERS}"),
    "half the heap for the young": Way(java=f"{JVM_OPTIONS} -XX:NewRatio=1"),
    "default tiers": Way(java=f"-XX:+UseSerialGC {_OTHERS}"),
    "first compiler only": Way(java=f"-XX:+UseSerialGC {_OTHERS} -XX:TieredStopAtLevel=1"),
    "twice the heap": Way(heap_x=2),
    "two thirds of the heap": Way(heap_x=2 / 3),
}
"""Names of `--ways`; `apart` is what the stack does."""


class UnknownWay(Refusal):
    """`--ways` names one that is not known."""

    def __init__(self, name: str) -> None:
        super().__init__(f"--ways {name}: known are {', '.join(WAYS)}.")


class NoFolder(Refusal):
    """`--code` is not NAME=FOLDER, or there is no checkout in the folder."""

    def __init__(self, given: str) -> None:
        super().__init__(f"--code {given}: give NAME=FOLDER, the folder being a checkout of this project.")


class JobsRun(Refusal):
    """Jobs of the stack run, and would be measured with it."""

    def __init__(self, jobs: Sequence[str]) -> None:
        names = " ".join(jobs)
        super().__init__(f"{names} would share the machine with what is measured: './kappa stop {names}' first.")


def main(
    ways: Annotated[str, typer.Option(help="Which, in this order, by commas.")] = "apart,together",
    code: Annotated[
        list[str] | None, typer.Option(help="NAME=FOLDER: `apart` by another checkout's code, too.")
    ] = None,
    rate: Annotated[float, typer.Option(min=1, help="Records per second.")] = 1_000.0,
    seconds: Annotated[float, typer.Option(min=10, help="Measured, of each way.")] = 60.0,
    warm_up: Annotated[float, typer.Option(min=10, help="Before them, with the start.")] = 75.0,
    times: Annotated[int, typer.Option(min=1, help="All ways, one after another, so often.")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the traffic; random if absent.")] = None,
    as_json: report.Json = False,
) -> None:
    """Run each way for a while beside the traffic; the stack must be up, and its jobs stopped."""
    stack, seed = settings(), secrets.randbelow(2**31) if seed is None else seed
    chosen = [name.strip() for name in ways.split(",")]
    if unknown := [name for name in chosen if name not in WAYS]:
        raise UnknownWay(unknown[0])
    runs = [(name, WAYS[name], CHECKOUT) for name in chosen] + [_of_code(each) for each in code or ()]
    if running := [live.job for live in Database(stack).live().values() if live.desired == "running"]:
        raise JobsRun(running)
    found: dict[str, list[dict[str, Any]]] = {}
    longest = times * len(runs) * (warm_up + seconds + START_SECONDS)
    with Background(stack, seed, rate, longest):
        for name, way, folder in runs * times:
            report.say(f"{name}: {warm_up + seconds:g} s")
            found.setdefault(name, []).append(run := _measured(stack, way, folder, warm_up, seconds))
            report.say(json.dumps(run))
    _tell({"seed": seed, "rate": rate, "seconds": seconds, "warm_up": warm_up}, found, as_json)


def _of_code(given: str) -> tuple[str, Way, Path]:
    """What `--code` asks for. Raises NoFolder."""
    name, _, folder = given.partition("=")
    if not folder or not (Path(folder) / "jobs").is_dir():
        raise NoFolder(given)
    return name, WAYS["apart"], Path(folder).resolve()


def _measured(stack: Settings, way: Way, folder: Path, warm_up: float, seconds: float) -> dict[str, Any]:
    """The figures of a way's drivers together. Raises CommandFailed."""
    groups = [JOBS] if way.together else [(job,) for job in JOBS]
    started = [_start(stack, way, folder, {"jobs": jobs, "warm_up": warm_up, "seconds": seconds}) for jobs in groups]
    told = [_answer(process) for process in started]
    cpu: Counter[str] = Counter()
    for each in told:
        cpu.update(each["ms_of_cpu_per_second"])
    return {
        "batch_ms": {job: ms for each in told for job, ms in each["batch_ms"].items()},
        "batches": {job: count for each in told for job, count in each["batches"].items()},
        "ms_of_cpu_per_second": {"all": sum(cpu.values()), **cpu},
        "resident_mb": sum(each["resident_mb"] for each in told),
    }


def _start(stack: Settings, way: Way, folder: Path, asked: Mapping[str, Any]) -> subprocess.Popen[str]:
    given = job_catalog.resolve(job_catalog.find("ad_ctr"), way.settings)
    memory = round(size_of(given).driver_memory_mb * way.heap_x)
    java = f"{way.java} {archived(stack)}" if "Serial" in way.java else way.java
    submit = f'--master local[{given["executor_cores"]}] --driver-memory {memory}m --jars "{jars(stack)}"'
    submit += f' --driver-java-options "{java}" --conf spark.ui.enabled=false pyspark-shell'
    own = {"PYSPARK_SUBMIT_ARGS": submit, "KAPPA_HOME": str(stack.home)}
    question = {**asked, "home": str(stack.home), "settings": dict(way.settings)}
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), json.dumps(question)],
        env={**os.environ, **variables(stack), **environment(folder, sys.executable), **own},
        # Spark starts Python's workers as modules, which look for code in the working folder first.
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What the program told. Raises CommandFailed."""
    out, error = process.communicate()
    if process.returncode:
        raise CommandFailed([PROGRAM.name], process.returncode, "\n".join(_errors(error)))
    answer: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return answer


def _errors(text: str) -> list[str]:
    """The lines that name an error, of all that Python and Spark say when one ends."""
    return [line for line in text.splitlines() if "Error" in line]


def _tell(about: Mapping[str, Any], found: Mapping[str, list[dict[str, Any]]], as_json: bool) -> None:
    if as_json:
        report.document({**about, "ways": found})
        return
    kinds = {kind for of in found.values() for run in of for kind in run["ms_of_cpu_per_second"]}
    columns = ["all", *sorted(kinds - {"all"})]
    base = next(iter(found.values()))[0]["ms_of_cpu_per_second"]["all"]
    rows = []
    for name, of in found.items():
        for run in of:
            cpu = run["ms_of_cpu_per_second"]
            batches = [run["batch_ms"][job] for job in JOBS]
            rows.append((name, cpu["all"] / base, *(cpu.get(c, 0) for c in columns), *batches, run["resident_mb"]))
    title = f"at {about['rate']:g} records/s: ms of CPU a second of all drivers; a batch's action, median; memory"
    report.table(title, ("way", "x", *columns, *(f"{job} ms" for job in JOBS), "MB"), rows)


if __name__ == "__main__":
    report.run(main)
