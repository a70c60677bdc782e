"""The faults at their full length, under load, on the whole stack; their short forms are in test_live.py."""

from __future__ import annotations

import random
import time
from functools import partial
from itertools import pairwise

import psutil
import pytest

from bench.groups import Applications, group
from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.log.kafka_log import KafkaLog, Offsets
from stack.footprint import memory_by_process
from stack.services import spark
from tests.integration.beside import load
from tests.integration.conftest import Tuned
from tests.integration.injected import EXECUTOR, kill_and_await, kill_of
from tests.integration.mishaps import befall
from tests.integration.outages import while_postgres_is_away, while_the_broker_is_killed
from tests.integration.replays.edge import Edge
from tests.integration.versions import batches, epochs
from tests.rigs.running_stack import JOBS, ON_EXECUTOR, Stack

pytestmark = pytest.mark.integration
SPARK = ("driver JVM", "driver Python", "executor JVM", "Python workers")


@pytest.mark.long(minutes=8)
@pytest.mark.fault("F9", "5 min at 500 records/s: no driver ends, batches go on, and differences are 0")
def test_postgres_is_away_for_five_minutes(deployed: Stack) -> None:
    with load(deployed, 90, rate=500):
        while_postgres_is_away(deployed, seconds=300)
    deployed.reconcile()


@pytest.mark.long(minutes=5)
@pytest.mark.fault("F13", "6 kills, 20 s apart: the log holds exactly what was acknowledged, and differences are 0")
def test_the_broker_is_killed_six_times(deployed: Stack, edge: Edge) -> None:
    edge.await_sent()
    while_the_broker_is_killed(deployed, times=6, every_seconds=20, rate=500)
    deployed.reconcile()


@pytest.mark.long(minutes=12)
@pytest.mark.fault("F25", "10 kills, of an executor or the worker: each time the job commits again; differences are 0")
def test_the_executor_and_the_worker_are_killed_ten_times(deployed: Stack, tuned: Tuned, seed: int) -> None:
    """The worker takes all drivers along; who watches over them starts them again."""
    rng = random.Random(seed)
    with load(deployed, seed, rate=500):
        for victim in rng.sample(["executor"] * 7 + ["worker"] * 3, 10):
            committed = {job: batches(deployed, job) for job in JOBS}
            if victim == "executor":
                kill_of(deployed, EXECUTOR, ON_EXECUTOR)
            else:
                kill_and_await(deployed, spark.WORKER)
            begun = time.monotonic()
            for job, count in committed.items():
                deployed.until(f"{job} commits", partial(_has_committed, deployed, job, count + 2), 600)
            print(f"{victim}: all jobs commit again after {time.monotonic() - begun:.0f} s")
    deployed.reconcile()


@pytest.mark.long(minutes=6)
@pytest.mark.fault("F32", "memory stays below what the worker gives out, no driver ends, all is read within 300 s")
def test_a_burst_of_ten_times_the_rate_for_a_minute(deployed: Stack, seed: int) -> None:
    owners, most = epochs(deployed), 0.0
    with load(deployed, seed, rate=500):
        time.sleep(20)
        with load(deployed, seed + 1, rate=4_500) as burst:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                most = max(most, _spark_megabytes(deployed))
                time.sleep(1)
        ends = _ends(deployed)
        begun = time.monotonic()
        deployed.until("the burst is read", partial(_have_read, deployed, ends), 300)
        print(f"read after {time.monotonic() - begun:.0f} s, {most:.0f} MB at most, {burst.played}")
        most = max(most, _spark_megabytes(deployed))
    assert burst.played is not None
    assert burst.played.per_second > 3_000, "this machine could not make the burst"
    assert most < deployed.settings.cluster.worker_memory_mb
    assert epochs(deployed) == owners
    deployed.reconcile()


@pytest.mark.long(minutes=40)
@pytest.mark.timeout(4 * 3_600)
@pytest.mark.fault("F33", "a printed seed makes the same mix again; after it all ranges join, and differences are 0")
def test_a_random_mix_of_faults(deployed: Stack, tuned: Tuned, seed: int, request: pytest.FixtureRequest) -> None:
    """`--seed` repeats a mix, `--mix-minutes` makes it shorter or longer."""
    minutes = float(request.config.getoption("--mix-minutes"))
    print(f"to repeat it: --seed {seed} --mix-minutes {minutes:g}")
    with load(deployed, seed, rate=300, seconds=60 * minutes + 3_600):
        happened = befall(deployed, seed, minutes)
    assert happened
    deployed.kappa("up")
    deployed.reconcile()
    query = "select start_offsets, end_offsets from ops.batches where job = %s order by generation, batch_id"
    for job in JOBS:
        assert all(before[1] == after[0] for before, after in pairwise(deployed.query(query, job))), job


def _has_committed(stack: Stack, job: str, batches_then: int) -> bool:
    return batches(stack, job) >= batches_then


def _spark_megabytes(stack: Stack) -> float:
    """What drivers and executors hold in memory, shared pages once."""
    names, sizes = Applications(stack.settings), memory_by_process(stack.settings.home)
    return sum(size for process, size in sizes.items() if _is_spark(process, names)) / 2**20


def _is_spark(process: psutil.Process, names: Applications) -> bool:
    try:
        return group(process.cmdline(), names).startswith(SPARK)
    except psutil.Error:
        return False


def _ends(stack: Stack) -> Offsets:
    with KafkaLog(stack.settings.kafka_access(KafkaUser.CONTROL), stack.settings.topic.name) as log:
        return log.ends()


def _have_read(stack: Stack, ends: Offsets) -> bool:
    """Whether each job has committed all up to there."""
    read = {(job, partition): offset for job, partition, offset in stack.query(
        'select job, "partition", next_offset from ops.progress')}  # fmt: skip
    return all(read[job, partition] >= end for job in JOBS for partition, end in ends.items())
