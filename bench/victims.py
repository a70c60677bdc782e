"""The processes of a job that a bench kills, when it may, and when the job has recovered."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import psutil

from bench.groups import Applications, Census, group
from bench.live import Database, Version
from kappa.core.installation.settings import Settings, Supervision
from kappa.core.refusals import Refusal

_DRIVER = """
select epoch, driver_pid, jvm_pid from ops.drivers
where job = %s and version = %s and beat_at > clock_timestamp() - %s::interval
"""
_NEXT_COMMIT = """
select extract(epoch from min(committed_at))::float8 * 1000 from ops.batches
where job = %s and version = %s and epoch > %s
"""
_NEWEST_COMMIT = """
select extract(epoch from clock_timestamp() - max(committed_at))::float8 from ops.batches where job = %s
"""
FRESH = "5 seconds"
FRESH_SECONDS = 5.0
SETTLED_SECONDS = 60.0
"""So long after the kill of a process that the driver outlives its effects are over: a worker's comes late, when the
master has it back."""
POLL_SECONDS = 0.25
SPARE_STARTS = 3


class NoDriver(Refusal):
    """A job has no driver to kill."""

    def __init__(self, version: Version, why: str) -> None:
        super().__init__(f"{version.job} v{version.version} has no driver to kill: {why}. './kappa status' says more.")


class NoVictim(Refusal):
    """A job has no such process."""

    def __init__(self, version: Version, target: Target) -> None:
        super().__init__(
            f"{version.job} v{version.version} has no {target} to kill. A job has executors after './kappa rescale "
            f"{version.job} --executors 1'; './kappa status' says more."
        )


class Target(StrEnum):
    """Which process is killed: one of the driver, its executor, or the cluster's worker, which started both."""

    PYTHON = "python"
    JVM = "jvm"
    EXECUTOR = "executor"
    WORKER = "worker"


OF_THE_DRIVER = (Target.PYTHON, Target.JVM)
GROUPS = {
    Target.PYTHON: "driver Python {}", Target.JVM: "driver JVM {}", Target.EXECUTOR: "executor JVM {}",
    Target.WORKER: "spark worker",
}  # fmt: skip
"""Process -> the name of its group (bench.groups), with a place for the job."""


@dataclass(frozen=True)
class Kill:
    """One kill: of which process, at which epoch, when (epoch ms)."""

    job: str
    target: Target
    pid: int
    epoch: int
    at_ms: float

    @property
    def is_of_driver(self) -> bool:
        """Whether the driver does not outlive it."""
        return self.target in OF_THE_DRIVER


def schedule(
    jobs: Sequence[str], targets: Sequence[Target], times: int, rng: random.Random
) -> list[tuple[str, Target]]:
    """Each of these processes of each job `times` times, in a random order."""
    order = [(job, target) for job in jobs for target in targets for _ in range(times)]
    rng.shuffle(order)
    return order


def pause_seconds(earlier_ms: Sequence[float], now_ms: float, limits: Supervision) -> float:
    """How long to wait before the next kill of a job, so that its driver is not given up for starting too often."""
    most = max(1, limits.max_restarts - SPARE_STARTS)
    if len(earlier_ms) < most:
        return 0.0
    free_again_ms = sorted(earlier_ms)[-most] + limits.within_minutes * 60_000
    return max(0.0, (free_again_ms - now_ms) / 1000)


def strike(stack: Settings, database: Database, version: Version, target: Target, within: float) -> Kill:
    """Kill (-9) that process of the version, once its driver beats. Raises NoDriver, NoVictim."""
    epoch, python, jvm = _driver(database, version, within)
    wanted = GROUPS[target].format(version.job)
    pid = {Target.PYTHON: python, Target.JVM: jvm}[target] if target in OF_THE_DRIVER else _pid_of(stack, wanted)
    if pid is None:
        raise NoVictim(version, target)
    try:
        process = psutil.Process(pid)
        if target in OF_THE_DRIVER and group(process.cmdline(), lambda _: "") != wanted:
            raise NoDriver(version, f"process {pid} is another one")
        at_ms = time.time() * 1000
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess as error:
        raise NoDriver(version, f"process {pid} is gone") from error
    return Kill(version.job, target, pid, epoch, at_ms)


def _pid_of(stack: Settings, wanted: str) -> int | None:
    """The first process of the stack that is of this group."""
    names = Applications(stack)
    found = (process for process in Census(stack.home).take().values() if group(process.cmdline(), names) == wanted)
    return next((process.pid for process in found), None)


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
    """How long the job stood still for a kill; None where it still does after `within` seconds.

    Of a driver's process: from the kill to the first batch that a later epoch committed. Of another: the longest pause
    between two commits, from shortly before the kill until its effects are over.
    """
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        found = _until_later_epoch(database, version, kill) if kill.is_of_driver else _longest_pause(database, kill)
        if found is not None:
            return round(found, 1)
        time.sleep(POLL_SECONDS)
    return None


def _until_later_epoch(database: Database, version: Version, kill: Kill) -> float | None:
    at_ms = database.rows(_NEXT_COMMIT, version.job, version.version, kill.epoch)[0][0]
    return None if at_ms is None else (float(at_ms) - kill.at_ms) / 1000


def _longest_pause(database: Database, kill: Kill) -> float | None:
    """None as long as effects may still come, or nothing is committed."""
    if time.time() * 1000 - kill.at_ms < SETTLED_SECONDS * 1000:
        return None
    ((ago,),) = database.rows(_NEWEST_COMMIT, kill.job)
    return database.longest_gap_s(kill.job, kill.at_ms) if ago < FRESH_SECONDS else None
