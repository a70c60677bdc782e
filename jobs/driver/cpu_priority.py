"""A driver's rank for the processor: a version that catches up and serves nothing takes what those that serve leave."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import psutil

from jobs.driver import batch_sizing
from kappa.core.versions import State

logger = logging.getLogger("kappa.priority")
LOWER = 5
"""Added to the usual nice value: a third of the processor's time that a thread of usual rank gets beside it. With a
tenth (10), two candidates read hardly more than arrived: live jobs commit as often as the processor lets them."""
LAST = 19
JVM = "java"
PASSES = 3
"""A thread that is made while the others are set has the rank of the one that made it: seen by the next pass."""


def gives_way(state: State, settings: Mapping[str, int], unread: int | None) -> bool:
    """Whether a version in `state` makes way; no longer once less than a large batch is unread, since it has to be
    within seconds of what serves. `unread` is None until the log and the version's place in it are known."""
    return state is State.CATCHING_UP and (unread is None or unread >= batch_sizing.far(settings)["records_per_batch"])


class Priority:
    """Of the JVM that started this process, and of all processes that it has."""

    def __init__(self, jvm_pid: int) -> None:
        self._jvm_pid = jvm_pid
        self._usual = self._now = os.getpriority(os.PRIO_PROCESS, jvm_pid)
        self._lower = min(LAST, self._usual + LOWER)

    def follow(self, gives_way: bool) -> None:
        """Take the rank that is wanted; not the lower one where it would be for ever."""
        wanted = self._lower if gives_way else self._usual
        if wanted == self._now:
            return
        if gives_way and not may_return():
            logger.info("this user may not take a rank back ('ulimit -e 20' lets it): the version keeps its own")
            self._lower = self._usual
            return
        for _ in range(PASSES):
            moved = [_set(thread, wanted) for thread in _threads(self._jvm_pid)]
            if not any(moved):
                break
        logger.info("nice %s -> %s", self._now, wanted)
        self._now = wanted


def may_return() -> bool:
    """Whether this user may take back the rank it has now, tried by a thread that ends: root may, and whom RLIMIT_NICE
    allows it (setpriority(2))."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_there_and_back).result()


def _there_and_back() -> bool:
    thread = threading.get_native_id()
    nice = os.getpriority(os.PRIO_PROCESS, thread)
    os.setpriority(os.PRIO_PROCESS, thread, nice + 1)
    try:
        os.setpriority(os.PRIO_PROCESS, thread, nice)
    except PermissionError:
        return False
    return True


def _threads(pid: int) -> Iterator[int]:
    """Of the JVM and its descendants; started by hand, a driver has another parent, which is left alone.

    Linux ranks each thread by itself.
    """
    try:
        top = psutil.Process(pid)
        top = top if top.name() == JVM else psutil.Process()
        family = [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            yield from [thread.id for thread in process.threads()]
        except psutil.NoSuchProcess:
            continue


def _set(thread: int, nice: int) -> bool:
    """Whether the thread had another rank."""
    try:
        if os.getpriority(os.PRIO_PROCESS, thread) == nice:
            return False
        os.setpriority(os.PRIO_PROCESS, thread, nice)
    except ProcessLookupError:
        return False
    return True
