"""Faults on a running stack, and the messages of each: that it began and that it is over, with what they say."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest
from psycopg.rows import dict_row

from kappa.core.installation.kafka_access import KafkaUser
from kappa.status import red_lines
from stack.alerts.causes import Cause
from tests.integration.beside import load
from tests.integration.duty import ROOM_BYTES, Watched, watching
from tests.integration.injected import changed
from tests.rigs.running_stack import Stack
from traffic.log import KafkaLog

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=4)]
Fault = Callable[[Stack], AbstractContextManager[None]]
FLOOD = 5_000
STOPPED = "quarantine"
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
    file = stack.settings.home / "spark" / "of-a-test"
    with file.open("wb") as held:
        os.posix_fallocate(held.fileno(), 0, 2 * ROOM_BYTES)
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


FAULTS: dict[Cause, Fault] = {
    Cause.QUERY: _crash_loop,
    Cause.DISK: _full_disk,
    Cause.RETENTION: _short_of_time,
    Cause.DEAD_LETTER: _flood,
}
"""By the cause that is told."""


@pytest.mark.parametrize("cause", FAULTS, ids=str)
def test_a_fault_is_told_once_and_that_it_is_over_once(watched: Watched, cause: Cause) -> None:
    stack, before, fault = watched.stack, len(watched.duty.told), FAULTS[cause]
    begun, seen = time.monotonic(), _Red(watched, cause, before)
    with fault(stack):
        stack.until(f"{cause} is told", seen.and_told, TOLD_SECONDS)
        told = time.monotonic()
    undone = time.monotonic()
    stack.until(f"the end of {cause} is told", lambda: watched.told(cause, before, "over"), OVER_SECONDS)
    of_it = watched.of(cause, before)
    red = "no red line" if seen.after is None else f"red after {seen.after - begun:.1f} s"
    print(
        f"\n{cause}: {red}, told after {told - begun:.1f} s, over told {time.monotonic() - undone:.1f} s after it was"
    )
    print("\n".join(f"{message['title']}\n{message['message']}" for message in of_it))
    assert [message["title"].split(":")[0] for message in of_it] == ["red", "over"]


class _Red:
    """When a red line of a cause was first seen, and whether the cause was told."""

    def __init__(self, watched: Watched, cause: Cause, before: int) -> None:
        self._watched, self._cause, self._before = watched, cause, before
        self.after: float | None = None

    def and_told(self) -> bool:
        """Look for the line; whether the receiver has been told."""
        settings = self._watched.stack.settings
        with psycopg.connect(settings.dsn("kappa_operator"), row_factory=dict_row) as connection:
            lines = {line["line"] for line in red_lines.read(connection, settings.topic.retention_hours)}
        if self._cause.value in lines and self.after is None:
            self.after = time.monotonic()
        return self._watched.told(self._cause, self._before, "red")
