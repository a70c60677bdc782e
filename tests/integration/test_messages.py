"""Faults on a running stack, and what is told of each: a red line, an alert of Prometheus where one is built, and the
messages that it began and that it is over."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import psycopg
import pytest
from psycopg.rows import dict_row

from kappa.core.installation import settings
from kappa.core.installation.kafka_access import KafkaUser
from kappa.status import red_lines
from kappa.status.causes import Cause
from stack.layout import Layout
from stack.services import kafka, postgres
from stack.status import outages
from tests.integration.beside import load
from tests.integration.duty import ROOM_BYTES, Watched, watching
from tests.integration.injected import HEALTHY, JVM, PYTHON, changed, clock_moved, kill_of, process_of
from tests.integration.versions import batches
from tests.rigs.running_stack import CHECKOUT, Stack
from tests.rigs.small_stack import standing_still, suspended
from traffic.log import KafkaLog

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=4)]
Fault = Callable[[Stack], AbstractContextManager[None]]
FLOOD = 5_000
STOPPED = "quarantine"
PARTS = {Cause.POSTGRES: postgres.NAME, Cause.KAFKA: kafka.NAME}
NO_RED_LINE = {Cause.DISK, Cause.CLOCK}
AHEAD_SECONDS = 120
QUIET_SECONDS = 60.0
"""As long as a finding has to last before it is told, four times."""
TOLD_SECONDS, OVER_SECONDS = 240.0, 600.0


@pytest.fixture(scope="module")
def watched(deployed: Stack) -> Iterator[Watched]:
    """The stack under traffic."""
    with load(deployed, 90, rate=50), watching(deployed) as watched:
        yield watched


def _crash_loop(stack: Stack) -> AbstractContextManager[None]:
    """The database refuses each batch."""
    right = "insert on registry.batch"
    return changed(stack, f"revoke {right} from kappa_writer", f"grant {right} to kappa_writer")


@contextmanager
def _full_disk(stack: Stack) -> Iterator[None]:
    """Whatever others have taken of the disk, or given back, since the monitor was told when it is full."""
    home = stack.settings.home
    file, limit = home / "spark" / "of-a-test", settings.load(home).alerts.disk_free_mb * 1_000_000
    with file.open("wb") as held:
        os.posix_fallocate(held.fileno(), 0, shutil.disk_usage(home).free - limit + ROOM_BYTES)
    try:
        yield
    finally:
        file.unlink()


@contextmanager
def _flood(stack: Stack) -> Iterator[None]:
    """More than a tenth of what came in five minutes cannot be read; it is over when these are."""
    access = stack.settings.kafka_access(KafkaUser.PRODUCER).librdkafka()
    log = KafkaLog(access, stack.settings.topic.name)
    for number in range(FLOOD):
        log.send(b"k", b"no record %d" % number)
    assert log.close().delivered == FLOOD
    yield


@contextmanager
def _short_of_time(stack: Stack) -> Iterator[None]:
    """A version is stopped, and what it has not read is as old as nine tenths of what the log keeps."""
    age = f"interval '{stack.settings.topic.retention_hours * 0.9} hours'"
    stack.kappa("stop", STOPPED, "--reason", "test")
    try:
        statement = f"""update registry.progress set read_append_time = read_append_time - {age},
            drained_at = drained_at - {age} where job = '{STOPPED}'"""
        stack.query(statement, role="postgres")
        yield
    finally:
        stack.kappa("start", STOPPED, "--reason", "test")


@contextmanager
def _silent(stack: Stack) -> Iterator[None]:
    """A driver's process hangs; once it may go on it ends itself, since somebody else may have its job by then."""
    python = process_of(stack, PYTHON, STOPPED)
    python.suspend()
    try:
        yield
    finally:
        python.resume()


def _postgres_away(stack: Stack) -> AbstractContextManager[None]:
    return standing_still(Layout(stack.settings, CHECKOUT), postgres.NAME)


def _supervisor_away(stack: Stack) -> AbstractContextManager[None]:
    return suspended(Layout(stack.settings, CHECKOUT))


def _broker_away(stack: Stack) -> AbstractContextManager[None]:
    return standing_still(Layout(stack.settings, CHECKOUT), kafka.NAME)


def _other_clock(stack: Stack) -> AbstractContextManager[None]:
    return clock_moved(stack, postgres.NAME, AHEAD_SECONDS)


FAULTS: dict[Cause, Fault] = {
    Cause.SUPERVISOR: _supervisor_away,
    Cause.POSTGRES: _postgres_away,
    Cause.KAFKA: _broker_away,
    Cause.SILENT: _silent,
    Cause.QUERY: _crash_loop,
    Cause.DISK: _full_disk,
    Cause.CLOCK: _other_clock,
    Cause.RETENTION: _short_of_time,
    Cause.DEAD_LETTER: _flood,
}
"""By the cause that is told."""


@pytest.mark.parametrize("cause", FAULTS, ids=str)
def test_a_fault_is_told_once_and_that_it_is_over_once(watched: Watched, cause: Cause) -> None:
    stack, before, fault = watched.stack, len(watched.duty.told), FAULTS[cause]
    is_red = None if cause in NO_RED_LINE else partial(_is_red, watched, cause)
    with fault(stack):
        begins = watched.see(cause, before, "red", is_red, TOLD_SECONDS)
    ends = watched.see(cause, before, "over", is_red, OVER_SECONDS)
    of_it = watched.of(cause, before)
    print(f"\n{cause}: {begins}; from its being undone: {ends}")
    print("\n".join(f"{message['title']}\n{message['message']}" for message in of_it))
    assert [message["title"].split(":")[0] for message in of_it] == ["red", "over"]


def test_a_driver_that_is_killed_is_back_and_at_most_told_once(watched: Watched) -> None:
    stack, before, begun = watched.stack, len(watched.duty.told), time.monotonic()
    kill_of(stack, JVM, STOPPED)
    made = batches(stack, STOPPED)
    stack.until(f"{STOPPED} has committed again", lambda: batches(stack, STOPPED) > made)
    committed = time.monotonic() - begun
    time.sleep(QUIET_SECONDS)
    told = watched.duty.titles[before:]
    print(f"\na driver was killed: committed again after {committed:.1f} s; told: {told}")
    assert sum(title.startswith("red") for title in told) <= 1, told


def _is_red(watched: Watched, cause: Cause) -> bool:
    at = watched.stack.settings
    if cause is Cause.SUPERVISOR:
        return bool(outages.ask_supervisor(Layout(at, CHECKOUT))[1])
    if cause in PARTS:
        return not HEALTHY[PARTS[cause]](at)
    with psycopg.connect(at.dsn("kappa_operator"), row_factory=dict_row) as connection:
        lines = {line["line"] for line in red_lines.read(connection, at.topic.retention_hours)}
    return cause.value in lines
