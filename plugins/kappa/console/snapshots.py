"""One snapshot for all who look: however many pages are open, each thing is read about once a second."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from kappa.core.refusals import Refusal

SECONDS = 1.0
SHARE = 10
"""What took long to read is read again only after so many times as long: what many pages show takes at most a tenth of
one backend."""
KEPT = 64
"""Snapshots that are kept; the ones that were looked at longest ago go."""
WAITING = 8
"""Requests that may wait at once for one connection. Each takes a thread of the api-server, which has 40 for all that
Airflow serves."""


class Busy(Refusal):
    """Too many wait already."""

    def __init__(self) -> None:
        super().__init__("the console is still reading for others; the page asks again in a moment.")


@dataclass(frozen=True)
class Snapshot:
    """What was read, and how many seconds ago."""

    value: Any
    age: float


@dataclass(frozen=True)
class _Held:
    """What was read, or the refusal that came of it, when that was begun, and until when it is good enough."""

    value: Any
    refusal: Refusal | None
    begun: float
    until: float

    def told(self, now: float) -> Snapshot:
        if self.refusal is not None:
            raise self.refusal
        return Snapshot(self.value, max(0.0, now - self.begun))


class Snapshots:
    """Reads by key; one reader at a time, the others get what it finds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: OrderedDict[Hashable, _Held] = OrderedDict()
        self._turn, self._books = threading.Lock(), threading.Lock()
        self._waiting = 0

    def get(self, key: Hashable, read: Callable[[], Any], seconds: float = SECONDS) -> Snapshot:
        """What `read` returned at most about so many seconds ago. Raises what `read` refuses with, Busy."""
        held = self._fresh(key)
        if held is None:
            with self._books:
                if self._waiting >= WAITING:
                    raise Busy
                self._waiting += 1
            try:
                with self._turn:
                    held = self._fresh(key) or self._read(key, read, seconds)
            finally:
                with self._books:
                    self._waiting -= 1
        return held.told(self._clock())

    def _fresh(self, key: Hashable) -> _Held | None:
        with self._books:
            held = self._held.get(key)
            if held is None or held.until < self._clock():
                return None
            self._held.move_to_end(key)
            return held

    def _read(self, key: Hashable, read: Callable[[], Any], seconds: float) -> _Held:
        begun = self._clock()
        value, refusal = None, None
        try:
            value = read()
        except Refusal as problem:
            refusal = problem
        ended = self._clock()
        held = _Held(value, refusal, begun, ended + max(seconds, (ended - begun) * SHARE))
        with self._books:
            self._held[key] = held
            self._held.move_to_end(key)
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
        return held
