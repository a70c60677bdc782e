"""CPU seconds and memory per process group over a span of time, sampled, so that processes that end count, too."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from types import TracebackType

import psutil

from bench.groups import Applications, Census, Key, group
from kappa.core.installation.settings import Settings

SAMPLE_SECONDS = 0.5


class CpuMeter:
    """Samples user and system time of every process of a stack from enter to exit.

    A process that begins and ends between two samples is missed, and of one that ends its last SAMPLE_SECONDS at most.
    """

    def __init__(self, settings: Settings, every: float = SAMPLE_SECONDS) -> None:
        self._census, self._applications = Census(settings.home), Applications(settings)
        self._every = every
        self._first: dict[Key, float] = {}
        self._last: dict[Key, float] = {}
        self._groups: dict[Key, str] = {}
        self._resident: list[dict[str, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="cpu-meter", daemon=True)

    def __enter__(self) -> CpuMeter:
        self._sample()
        self._first = dict(self._last)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def read(self) -> dict[str, float]:
        """Group -> CPU seconds used from enter to now, the largest first; ends the sampling."""
        self._end()
        used: defaultdict[str, float] = defaultdict(float)
        for key, last in self._last.items():
            used[self._groups[key]] += last - self._first.get(key, 0.0)
        return {name: round(used[name], 1) for name in sorted(used, key=lambda name: -used[name])}

    def peak_bytes(self, groups: tuple[str, ...]) -> int:
        """The most resident memory that the groups whose names begin so had together at one moment."""
        sums = (sum(size for name, size in sizes.items() if name.startswith(groups)) for sizes in self._resident)
        return max(sums, default=0)

    def _end(self) -> None:
        if not self._stop.is_set():
            self._stop.set()
            self._thread.join()
            self._sample()

    def _loop(self) -> None:
        while not self._stop.wait(self._every):
            self._sample()

    def _sample(self) -> None:
        """A command line is read each time: a process takes its final one only some time after its start."""
        resident: defaultdict[str, int] = defaultdict(int)
        for key, process in self._census.take().items():
            with contextlib.suppress(psutil.Error), process.oneshot():
                times, words, size = process.cpu_times(), process.cmdline(), process.memory_info().rss
                self._last[key] = times.user + times.system
                if words:
                    self._groups[key] = group(words, self._applications)
                self._groups.setdefault(key, "other")
                resident[self._groups[key]] += size
        self._resident.append(dict(resident))
