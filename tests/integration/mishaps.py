"""A random mix of faults: which comes when is drawn from a seed alone, so that a run can be repeated."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from bench.load import produce
from stack.services import kafka, postgres, spark
from tests.integration.injected import EXECUTOR, JVM, PYTHON, away, kill, kill_and_await, kill_of
from tests.rigs.running_stack import JOBS, ON_EXECUTOR, Stack

PAUSE_SECONDS = (20.0, 60.0)
"""From the end of a mishap to the next one: between too short and long enough to recover."""


class Mishap(StrEnum):
    """What goes wrong."""

    PYTHON = "a driver's Python process is killed"
    JVM = "a driver's JVM is killed"
    EXECUTOR = "an executor is killed"
    WORKER = "Spark's worker is killed"
    BROKER = "the broker is killed"
    POSTGRES = "Postgres is away"
    AIRFLOW = "all of Airflow is killed"
    STOP = "a job is stopped and started"
    BURST = "records come at once"


@dataclass(frozen=True)
class Planned:
    """A mishap: after how many seconds of pause, to which job, and how long or how much, in parts of one."""

    mishap: Mishap
    pause_seconds: float
    job: str
    size: float


def planned(seed: int) -> Iterator[Planned]:
    """The mishaps of a seed, without an end: in each round every one of them once, in a random order."""
    rng = random.Random(seed)
    while True:
        for mishap in rng.sample(list(Mishap), len(Mishap)):
            yield Planned(mishap, rng.uniform(*PAUSE_SECONDS), rng.choice(JOBS), rng.random())


def befall(stack: Stack, seed: int, minutes: float) -> list[Planned]:
    """Let the mishaps of a seed happen for so long; those that did."""
    over, happened = time.monotonic() + 60 * minutes, list[Planned]()
    for one in planned(seed):
        time.sleep(one.pause_seconds)
        if time.monotonic() > over:
            break
        print(f"{time.strftime('%H:%M:%S')} {one.mishap}: {one.job}, {one.size:.2f}", flush=True)
        _happen(stack, one, seed + len(happened))
        happened.append(one)
    return happened


def _happen(stack: Stack, one: Planned, seed: int) -> None:
    match one.mishap:
        case Mishap.PYTHON | Mishap.JVM | Mishap.EXECUTOR:
            kinds = {Mishap.PYTHON: PYTHON, Mishap.JVM: JVM, Mishap.EXECUTOR: EXECUTOR}
            kill_of(stack, kinds[one.mishap], ON_EXECUTOR if one.mishap is Mishap.EXECUTOR else one.job)
        case Mishap.WORKER:
            kill_and_await(stack, spark.WORKER)
        case Mishap.BROKER:
            kill_and_await(stack, kafka.NAME)
        case Mishap.POSTGRES:
            with away(stack, postgres.NAME, signal.SIGQUIT):
                time.sleep(30 * one.size)
        case Mishap.AIRFLOW:
            assert kill(stack, "airflow"), "Airflow was dead already"
        case Mishap.STOP:
            stack.kappa("stop", one.job, "--without-airflow", "--reason", "mix")
            stack.kappa("start", one.job, "--without-airflow", "--reason", "mix")
        case Mishap.BURST:
            produce(stack.settings, seed, 1_000 + round(50_000 * one.size), 3_600)
