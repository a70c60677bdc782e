"""A driver's rank for the processor: a version that catches up and serves nothing takes what those that serve leave."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import IntEnum

import psutil

from jobs.driver import batch_sizing
from kappa.core.versions import State

logger = logging.getLogger("kappa.priority")
LAST = 19
"""The nice value of who takes what nobody else wants."""
STANDS_STILL_SECONDS = 60.0
"""Who makes way and has committed nothing for so long may be kept from it: larger batches begin every ten seconds."""
JVM = "java"
HOLD_POLL_SECONDS = 0.3
PASSES = 3
"""A thread that is made while the others are set has the rank of the one that made it: seen by the next pass."""


class Rank(IntEnum):
    """What is added to the usual nice value. LOW has a third of the time that a thread of usual rank gets beside it, so
    that it goes on whatever the others do; LOWEST a seventieth."""

    USUAL = 0
    LOW = 5
    LOWEST = 19


def rank_of(state: State, settings: Mapping[str, int], unread: int | None, idle_seconds: float) -> Rank:
    """The rank of a version in `state` that has committed nothing for `idle_seconds`. It makes way until less than a
    large batch is unread, since it has to be within seconds of what serves then; `unread` is None until the log and the
    version's place in it are known."""
    is_near = unread is not None and unread < batch_sizing.far(settings)["records_per_batch"]
    if state is not State.CATCHING_UP or is_near:
        return Rank.USUAL
    return Rank.LOWEST if idle_seconds < STANDS_STILL_SECONDS else Rank.LOW


class Standstill:
    """For how long a driver has committed nothing, its start counting as a commit."""

    def __init__(self, now: float) -> None:
        self._batch_id: int | None = None
        self._since = now

    def seconds(self, batch_id: int | None, now: float) -> float:
        """At `now`, in seconds of a steady clock, `batch_id` being the newest that was committed."""
        if batch_id != self._batch_id:
            self._batch_id, self._since = batch_id, now
        return now - self._since


class Priority:
    """Of the JVM that started this process, and of all processes that it has."""

    def __init__(self, jvm_pid: int) -> None:
        self._jvm_pid = jvm_pid
        self._now = os.getpriority(os.PRIO_PROCESS, jvm_pid)
        self._usual = min(self._now, _nice_of_starter(jvm_pid))
        self._is_fixed = False

    def follow(self, rank: Rank) -> None:
        """Take the rank that is wanted; not a lower one where it would be for ever."""
        wanted = self._usual if self._is_fixed else min(LAST, self._usual + rank)
        if wanted == self._now:
            return
        if self._now == self._usual and not may_return():
            logger.info("this user may not take a rank back ('ulimit -e 20' lets it): the version keeps its own")
            self._is_fixed = True
            return
        _set_all(self._jvm_pid, wanted)
        logger.info("nice %s -> %s", self._now, wanted)
        self._now = wanted


def hold_back(jvm_pid: int, launch_id: str, seconds: float) -> None:
    """For so long, have every other driver that the worker of this JVM starts for the launch take LOWEST, and LOW then:
    what is started again in place of one that died is to stand by, and would boot beside the one that is waited for."""
    if not may_return():
        return
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        _rank_others(jvm_pid, launch_id, Rank.LOWEST)
        time.sleep(HOLD_POLL_SECONDS)
    _rank_others(jvm_pid, launch_id, Rank.LOW)


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


def _rank_others(jvm_pid: int, launch_id: str, rank: Rank) -> None:
    for other in _others(jvm_pid, launch_id):
        with suppress(psutil.NoSuchProcess):
            _set_all(other.pid, min(LAST, _nice_of_starter(other.pid) + rank))


def _others(jvm_pid: int, launch_id: str) -> Iterator[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        starter = psutil.Process(jvm_pid).parent()
        for process in starter.children() if starter else ():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if process.pid != jvm_pid and process.name() == JVM and launch_id in process.cmdline():
                    yield process


def _nice_of_starter(jvm_pid: int) -> int:
    """That of the worker that started the JVM: its own, unless somebody has held it back since."""
    starter = psutil.Process(jvm_pid).parent()
    return starter.nice() if starter else 0


def _set_all(pid: int, nice: int) -> None:
    for _ in range(PASSES):
        moved = [_set(thread, nice) for thread in _threads(pid)]
        if not any(moved):
            break


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
