"""Postgres away, and a broker that dies again and again, under load: what holds meanwhile and afterwards."""

from __future__ import annotations

import random
import signal
import time
from functools import partial

from kappa.core.installation.kafka_access import KafkaUser
from kappa.core.log.kafka_log import KafkaLog
from stack.services import kafka, postgres
from tests.integration.beside import load
from tests.integration.injected import away, kill_and_await
from tests.integration.versions import batches, epochs
from tests.rigs.figures import Figure, note
from tests.rigs.running_stack import JOBS, Stack


def while_postgres_is_away(stack: Stack, seconds: float) -> None:
    """Postgres ends at once (QUIT, as by `stop -m immediate`) and stays away: each job's driver lives on through it,
    and commits when Postgres is back (F9)."""
    before, drivers = epochs(stack), _drivers(stack)
    with away(stack, postgres.NAME, by=signal.SIGQUIT):
        time.sleep(seconds)
        assert _drivers(stack) == drivers, "a driver ended for want of Postgres"
    committed = {job: batches(stack, job) for job in JOBS}
    begun = time.monotonic()
    for job in JOBS:
        stack.until(f"{job} commits again", partial(_has_committed, stack, job, committed[job]))
    print(f"Postgres was away for {seconds:.0f} s; all jobs commit again after {time.monotonic() - begun:.1f} s")
    note({Figure.RECOVERED: time.monotonic() - begun})
    assert epochs(stack) == before


def while_the_broker_is_killed(stack: Stack, times: int, every_seconds: float, rate: int) -> None:
    """kill -9 under a producer that waits for the acknowledgement of each record: afterwards the log has grown by
    exactly the records that were acknowledged, each once (F13). Nobody else writes to it meanwhile."""
    seed, before = random.randrange(10**6), _records(stack)
    print(f"seed {seed}")
    with load(stack, seed, rate) as traffic:
        for _ in range(times):
            time.sleep(every_seconds)
            kill_and_await(stack, kafka.NAME)
        time.sleep(every_seconds)
    played = traffic.played
    assert played is not None
    assert (played.failed, played.delivered) == (0, played.records), played.first_error
    grown = _records(stack) - before
    assert grown == played.delivered, f"the log has grown by {grown} records, {played.delivered} were acknowledged"


def _drivers(stack: Stack) -> dict[str, set[int]]:
    return {job: {process.pid for process in stack.drivers(job)} for job in JOBS}


def _has_committed(stack: Stack, job: str, before: int) -> bool:
    return batches(stack, job) > before


def _records(stack: Stack) -> int:
    """One past the last offsets, added up: no record was deleted."""
    with KafkaLog(stack.settings.kafka_access(KafkaUser.CONTROL), stack.settings.topic.name) as log:
        return sum(log.ends().values())
