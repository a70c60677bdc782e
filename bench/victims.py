"""The processes of a driver that a bench kills, when it may, and when the job has recovered."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import psutil

from bench.groups import group
from bench.live import Database, Version
from kappa.core.installation.settings import Supervision
from kappa.core.refusals import Refusal

_DRIVER = """
select epoch, driver_pid, jvm_pid from ops.drivers
where job = %s and version = %s and beat_at > clock_timestamp() - %s::interval
"""
_NEXT_COMMIT = """
select extract(epoch from min(committed_at))::float8 * 1000 from ops.batches
where job = %s and version = %s and epoch > %s
"""
FRESH = "5 seconds"
POLL_SECONDS = 0.25
SPARE_STARTS = 3


class NoDriver(Refusal):
    """A job has no driver to kill."""

    def __init__(self, version: Version, why: str) -> None:
        super().__init__(f"{version.job} v{version.version} has no driver to kill: {why}. './kappa status' says more.")


class Target(StrEnum):
    """Which process of a driver is killed."""

    PYTHON = "python"
    JVM = "jvm"


_GROUPS = {Target.PYTHON: "driver Python", Target.JVM: "driver JVM"}


@dataclass(frozen=True)
class Kill:
    """One kill: of which process, at which epoch, when (epoch ms)."""

    job: str
    target: Target
    pid: int
    epoch: int
    at_ms: float


def schedule(jobs: Sequence[str], times: int, rng: random.Random) -> list[tuple[str, Target]]:
    """Each process of each job's driver `times` times, in a random order."""
    order = [(job, target) for job in jobs for target in Target for _ in range(times)]
    rng.shuffle(order)
    return order


def pause_seconds(earlier_ms: Sequence[float], now_ms: float, limits: Supervision) -> float:
    """How long to wait before the next kill of a job, so that its driver is not given up for starting too often."""
    most = max(1, limits.max_restarts - SPARE_STARTS)
    if len(earlier_ms) < most:
        return 0.0
    free_again_ms = sorted(earlier_ms)[-most] + limits.within_minutes * 60_000
    return max(0.0, (free_again_ms - now_ms) / 1000)


def strike(database: Database, version: Version, target: Target, within: float) -> Kill:
    """Kill (-9) the Python process or the JVM of the version's driver, once it beats. Raises NoDriver."""
    epoch, python, jvm = _driver(database, version, within)
    pid = python if target is Target.PYTHON else jvm
    if pid is None:
        raise NoDriver(version, f"its heartbeat names no {target}")
    try:
        process = psutil.Process(pid)
        if group(process.cmdline(), lambda _: "") != f"{_GROUPS[target]} {version.job}":
            raise NoDriver(version, f"process {pid} is another one")
        at_ms = time.time() * 1000
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess as error:
        raise NoDriver(version, f"process {pid} is gone") from error
    return Kill(version.job, target, pid, epoch, at_ms)


def _driver(database: Database, version: Version, within: float) -> tuple[int, int | None, int | None]:
    """Epoch, pid of Python and pid of the JVM of the driver, waiting for a fresh heartbeat. Raises NoDriver."""
    deadline = time.monotonic() + within
    while not (found := database.rows(_DRIVER, version.job, version.version, FRESH)):
        if time.monotonic() > deadline:
            raise NoDriver(version, f"no fresh heartbeat within {within:.0f} s")
        time.sleep(POLL_SECONDS)
    epoch, python, jvm = found[0]
    return epoch, python, jvm


def recovery_seconds(database: Database, version: Version, kill: Kill, within: float) -> float | None:
    """Seconds from the kill to the first batch that a later epoch committed; None if there is none `within` seconds."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        at_ms = database.rows(_NEXT_COMMIT, version.job, version.version, kill.epoch)[0][0]
        if at_ms is not None:
            return round((float(at_ms) - kill.at_ms) / 1000, 1)
        time.sleep(POLL_SECONDS)
    return None
