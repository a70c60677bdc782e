"""The port to the cluster that runs drivers, and what it has for them: hosts, with cores and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol
from uuid import UUID

from kappa.core.refusals import Refusal


class DriverState(StrEnum):
    """What the cluster says of a driver; GONE when it knows of none by that name. RELAUNCHING: its host was lost, and
    it is started on another one under a name that nobody knows before it claims its launch."""

    SUBMITTED = "SUBMITTED"
    RUNNING = "RUNNING"
    RELAUNCHING = "RELAUNCHING"
    UNKNOWN = "UNKNOWN"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"
    ERROR = "ERROR"
    GONE = "GONE"


ALIVE = frozenset({DriverState.SUBMITTED, DriverState.RUNNING, DriverState.RELAUNCHING, DriverState.UNKNOWN})
"""States in which a driver runs, or will by itself. UNKNOWN: the cluster has just been restarted and does not know
yet."""


@dataclass(frozen=True)
class Submission:
    """The driver of a launch, to be started, whichever manager the cluster has; no secret is in it.

    `arguments`: the program, a file of Python, and its own arguments. `configuration`: Spark's, of driver and
    executors, without what sizes and places them. `cluster`: the cluster's URL, by which a driver asks for executors.
    `executors`: how many; 0: the driver's own process does their work, with as many cores as one has. `jars`: as Spark
    takes them. `secret`: the file of what driver and executors know each other by, None where there are no executors.
    `supervised`: the cluster starts a driver anew that ended in an error.
    """

    launch_id: UUID
    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    configuration: Mapping[str, str]
    cluster: str
    driver_cores: int
    driver_memory_mb: int
    executors: int
    executor_cores: int
    jars: str = ""
    secret: Path | None = None
    supervised: bool = True


class SubmissionRefused(Refusal):
    """The cluster took the request and said no."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"Spark refused to start {name}: {message}. No driver was started.")


class Cluster(Protocol):
    """Where drivers run. A driver is known by the launch that it carries out, and for all of its life; what the cluster
    calls it may change with each host that is lost. `names` is what it was called, as far as the registry knows, the
    newest first: a cluster that finds drivers by their launch needs none of them."""

    def submit(self, submission: Submission) -> str:
        """Start the driver of a launch and keep it running, on another host where its own is lost; what the cluster
        calls it for now. Raises Unreachable, SubmissionRefused."""

    def state(self, launch_id: UUID, names: Sequence[str]) -> DriverState:
        """What became of the driver of a launch. Raises Unreachable."""

    def kill(self, launch_id: UUID, names: Sequence[str]) -> None:
        """End the drivers of a launch at once, and for good; nothing happens where none is left. Raises
        Unreachable."""

    def capacity(self) -> Capacity:
        """What its live hosts have, in all and free. Raises Unreachable."""


@dataclass(frozen=True)
class Host:
    """What one live host of a cluster offers; memory in MB."""

    cores: int
    free_cores: int
    memory_mb: int
    free_memory_mb: int


@dataclass(frozen=True)
class Capacity:
    """The live hosts of a cluster. A host that was lost counts until the cluster has noticed."""

    hosts: tuple[Host, ...]

    @property
    def free_cores(self) -> int:
        """How many cores nobody has."""
        return sum(host.free_cores for host in self.hosts)

    @property
    def free_memory_mb(self) -> int:
        """How much memory nobody has, in MB."""
        return sum(host.free_memory_mb for host in self.hosts)

    def unused(self) -> Capacity:
        """The hosts with no more than what nobody has of them."""
        free = ((host.free_cores, host.free_memory_mb) for host in self.hosts)
        return Capacity(tuple(Host(cores, cores, memory_mb, memory_mb) for cores, memory_mb in free))

    def to_json(self) -> dict[str, int]:
        """What it has in all and free, for machines."""
        return {
            "hosts": len(self.hosts),
            "cores": sum(host.cores for host in self.hosts),
            "free_cores": self.free_cores,
            "memory_mb": sum(host.memory_mb for host in self.hosts),
            "free_memory_mb": self.free_memory_mb,
        }

    def sentence(self) -> str:
        """What it has in all, for people."""
        cores, memory_mb = sum(host.cores for host in self.hosts), sum(host.memory_mb for host in self.hosts)
        return f"{_counted(len(self.hosts), 'host')} with {_counted(cores, 'core')} and {memory_mb:,} MB"

    def unused_sentence(self) -> str:
        """What nobody has of its hosts, the most first, for people."""
        alike = Counter((host.free_cores, host.free_memory_mb) for host in self.hosts)
        return ", ".join(
            f"{_counted(cores, 'core')} and {memory_mb:,} MB on {_counted(hosts, 'host')}"
            for (cores, memory_mb), hosts in sorted(alike.items(), reverse=True)
        )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
