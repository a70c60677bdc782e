"""Faults on a running stack, and the messages of each: that it began and that it is over, with what they say."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

import psycopg
import pytest
from psycopg.rows import dict_row

from kappa.status import red_lines
from stack.alerts.causes import MEANINGS, Cause
from stack.services import monitor
from tests.integration.beside import load
from tests.integration.injected import changed, kill_and_await
from tests.rigs.running_stack import Stack
from tests.stack.alerts.receiver import Receiver, put_address, receiver

pytestmark = [pytest.mark.integration, pytest.mark.long(minutes=2)]
Fault = Callable[[Stack], AbstractContextManager[None]]
DUTY = "duty"
ROOM_BYTES = 1_500_000_000
TOLD_SECONDS, OVER_SECONDS = 240.0, 600.0


@dataclass(frozen=True)
class Watched:
    """A stack whose monitor tells a receiver."""

    stack: Stack
    duty: Receiver


@pytest.fixture(scope="module")
def watched(deployed: Stack) -> Iterator[Watched]:
    """The stack under traffic; the settings are as they were afterwards."""
    file = deployed.settings.home.parent / "kappa.toml"
    before = file.read_text()
    free_mb = (shutil.disk_usage(deployed.settings.home).free - ROOM_BYTES) // 1_000_000
    with receiver() as duty, load(deployed, 90, rate=50):
        put_address(deployed.settings.secrets, DUTY, duty.url)
        file.write_text(f'{before}[alerts]\ntargets = ["{DUTY}"]\ndisk_free_mb = {free_mb}\n')
        kill_and_await(deployed, monitor.NAME)
        try:
            yield Watched(deployed, duty)
        finally:
            file.write_text(before)
            kill_and_await(deployed, monitor.NAME)


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


FAULTS: dict[Cause, Fault] = {Cause.QUERY: _crash_loop, Cause.DISK: _full_disk}
"""By the cause that is told."""


@pytest.mark.parametrize("cause", FAULTS, ids=str)
def test_a_fault_is_told_once_and_that_it_is_over_once(watched: Watched, cause: Cause) -> None:
    stack, duty, fault = watched.stack, watched.duty, FAULTS[cause]
    before = len(duty.told)
    begun, seen = time.monotonic(), _Red(stack, cause)
    with fault(stack):
        stack.until(f"{cause} is told", partial(seen.and_told, duty, before), TOLD_SECONDS)
        told = time.monotonic()
    undone = time.monotonic()
    title = f"over: {MEANINGS[cause].title}"
    stack.until(f"the end of {cause} is told", lambda: any(t.startswith(title) for t in duty.titles[before:]),
                OVER_SECONDS)  # fmt: skip
    of_it = [message for message in duty.told[before:] if MEANINGS[cause].title in message["title"]]
    red = "no red line" if seen.after is None else f"red after {seen.after - begun:.1f} s"
    print(
        f"\n{cause}: {red}, told after {told - begun:.1f} s, over told {time.monotonic() - undone:.1f} s after it was"
    )
    print("\n".join(f"{message['title']}\n{message['message']}" for message in of_it))
    assert [message["title"].split(":")[0] for message in of_it] == ["red", "over"]


class _Red:
    """When a red line of a cause was first seen, and whether the cause was told."""

    def __init__(self, stack: Stack, cause: Cause) -> None:
        self._stack, self._line = stack, cause.value
        self._title = f"red: {MEANINGS[cause].title}"
        self.after: float | None = None

    def and_told(self, duty: Receiver, before: int) -> bool:
        """Look for the line; whether the receiver has been told."""
        hours = self._stack.settings.topic.retention_hours
        with psycopg.connect(self._stack.settings.dsn("kappa_operator"), row_factory=dict_row) as connection:
            lines = {line["line"] for line in red_lines.read(connection, hours)}
        if self._line in lines and self.after is None:
            self.after = time.monotonic()
        return any(title.startswith(self._title) for title in duty.titles[before:])
