"""A driver's heartbeats: what they tell, how one is written, and that a driver whose beats are lost may not work."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import psycopg

from kappa.core.versions import Desired, State

logger = logging.getLogger("kappa.heartbeat")
BEAT_SECONDS = 1.0
POLL_SECONDS = 0.1
LOST_SECONDS = 20.0
"""None of its beats arrived for so long: the driver may be cut off from the registry, and another one may soon take its
place. That is 10 s before the earliest moment at which one can (`registry.ALIVE`)."""


@dataclass(frozen=True)
class Beat:
    """One heartbeat: who is alive, what it committed last, how large its state is. Times are epoch ms; `committed_ms`
    is the database's."""

    epoch: int
    driver_pid: int
    jvm_pid: int | None
    submission_id: str
    generation: int
    batch_id: int | None = None
    batch_ms: int | None = None
    action_ms: int | None = None
    committed_ms: int | None = None
    newest_event_ms: int | None = None
    watermark_ms: int | None = None
    watermark_delay_ms: int | None = None
    state_rows: int | None = None
    state_bytes: int | None = None


class Registry(Protocol):
    """Whom a beat is written to."""

    def beat(self, beat: Beat) -> tuple[Desired, State, int]:
        """Write it; what is desired, the version's state, and the epoch that owns it."""

    def close(self) -> None:
        """Close the connection."""


class Heartbeats:
    """Beats once a second, on a thread and a connection with which nothing else is done: whatever else is away or slow,
    a driver that can reach the registry is heard.

    `desired` and `state` are what the registry last said of the version, `taken_over` whether a newer driver owns it.
    """

    def __init__(
        self, connect: Callable[[], Registry], beat: Callable[[], Beat], epoch: int, desired: Desired, state: State
    ) -> None:
        self._connect, self._beat, self._epoch = connect, beat, epoch
        self.desired, self.state, self.taken_over = desired, state, False
        self._registry: Registry | None = None
        self._arrived = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="heartbeat", daemon=True)

    @property
    def are_lost(self) -> bool:
        """Whether none has arrived for LOST_SECONDS. Time in which the process was stopped counts, too."""
        return time.monotonic() - self._arrived > LOST_SECONDS

    def await_heard(self) -> None:
        """Return once a beat arrives, which is at once unless they are lost: meanwhile another driver may be at work on
        the same checkpoint. The thread ends with its process, at the latest."""
        if self.are_lost:
            logger.warning("no heartbeat has arrived for %.0f s: no batch is begun until one does", LOST_SECONDS)
        while self.are_lost:
            time.sleep(POLL_SECONDS)

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def stop(self) -> None:
        """Beat a last time and end."""
        self._stop.set()
        self._thread.join(timeout=20)

    def send(self) -> None:
        """One beat. Nothing ends the beats: what is away is connected again for the next one."""
        asked = time.monotonic()
        try:
            if self._registry is None:
                self._registry = self._connect()
            self.desired, self.state, owner = self._registry.beat(self._beat())
        except psycopg.Error as error:
            logger.warning("postgres does not answer the heartbeat: %s", str(error).splitlines()[:1])
            self._leave()
        except Exception:
            logger.exception("a heartbeat failed")
            self._leave()
        else:
            self.taken_over, self._arrived = owner > self._epoch, asked

    def _loop(self) -> None:
        while not self._stop.is_set():
            self.send()
            self._stop.wait(BEAT_SECONDS)
        self.send()
        self._leave()

    def _leave(self) -> None:
        if self._registry is not None:
            with suppress(psycopg.Error):
                self._registry.close()
        self._registry = None


WRITE_BEAT = """insert into registry.heartbeat as h (job, version, epoch, beat_at, driver_pid, jvm_pid, submission_id,
    generation, batch_id, batch_ms, committed_at, newest_event_time, watermark, watermark_delay_ms,
    state_rows, state_bytes, action_ms)
values (%(job)s, %(version)s, %(epoch)s, clock_timestamp(), %(driver_pid)s, %(jvm_pid)s, %(submission_id)s,
    %(generation)s, %(batch_id)s, %(batch_ms)s, to_timestamp(%(committed_ms)s / 1000.0),
    to_timestamp(%(newest_event_ms)s / 1000.0), to_timestamp(%(watermark_ms)s / 1000.0),
    %(watermark_delay_ms)s, %(state_rows)s, %(state_bytes)s, %(action_ms)s)
on conflict (job, version) do update set epoch = excluded.epoch, beat_at = excluded.beat_at,
    driver_pid = excluded.driver_pid, jvm_pid = excluded.jvm_pid, submission_id = excluded.submission_id,
    generation = excluded.generation, batch_id = coalesce(excluded.batch_id, h.batch_id),
    batch_ms = coalesce(excluded.batch_ms, h.batch_ms), action_ms = coalesce(excluded.action_ms, h.action_ms),
    committed_at = coalesce(excluded.committed_at, h.committed_at),
    newest_event_time = greatest(excluded.newest_event_time, h.newest_event_time),
    watermark = coalesce(excluded.watermark, h.watermark),
    watermark_delay_ms = coalesce(excluded.watermark_delay_ms, h.watermark_delay_ms),
    state_rows = coalesce(excluded.state_rows, h.state_rows),
    state_bytes = coalesce(excluded.state_bytes, h.state_bytes)
where h.epoch <= excluded.epoch"""
