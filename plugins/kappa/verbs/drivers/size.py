"""What a version takes of the cluster, a driver and executors, and whether the cluster can place it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kappa.cluster import Capacity, Host
from kappa.core.job_catalog import EXECUTOR_CORES, EXECUTORS
from kappa.core.refusals import Refusal

PLANNING_MB = 256
"""What planning needs of the heap beside the work that is done in the same process."""


class DoesNotFit(Refusal):
    """The cluster could not place driver and executors: they would wait for ever."""

    def __init__(self, job: str, lacking: str, give_less: str) -> None:
        super().__init__(
            f"{job} would take {lacking}; nothing was changed. Give less ({give_less}), or the cluster more: "
            "another host, or worker_cores and worker_memory_mb in kappa.toml."
        )


@dataclass(frozen=True)
class Size:
    """A driver and a number of executors, all alike; memory in MB."""

    driver_cores: int
    driver_memory_mb: int
    executors: int = 0
    executor_cores: int = 0
    executor_memory_mb: int = 0

    @property
    def cores(self) -> int:
        """The cores that all of it takes."""
        return self.driver_cores + self.executors * self.executor_cores

    @property
    def memory_mb(self) -> int:
        """The memory that all of it takes."""
        return self.driver_memory_mb + self.executors * self.executor_memory_mb

    def exceeds(self, other: Size) -> bool:
        """Whether it takes more cores, or more memory, than the other."""
        return self.cores > other.cores or self.memory_mb > other.memory_mb

    def sentence(self) -> str:
        """The size for people."""
        return f"{self.cores} cores and {self.memory_mb:,} MB"


NOTHING = Size(0, 0)
"""What a version takes that has no driver."""


def size_of(settings: Mapping[str, int]) -> Size:
    """What a version with these settings takes: with executors its driver has a core of its own, without them it does
    the work itself."""
    cores, memory_mb = settings[EXECUTOR_CORES], settings["executor_memory_mb"]
    if not settings[EXECUTORS]:
        return Size(cores, local_memory_mb(settings))
    return Size(1, settings["driver_memory_mb"], settings[EXECUTORS], cores, memory_mb)


def local_memory_mb(settings: Mapping[str, int]) -> int:
    """The heap of a process that plans and does the work itself."""
    return settings["executor_memory_mb"] + PLANNING_MB


def shortage(wanted: Size, held: Size, capacity: Capacity) -> str:
    """What keeps the cluster from placing a version, in words that follow "would take"; empty where nothing does.

    `held` is what the version's own driver and executors have now, which is given back first. What does not grow is
    there already; what no host could hold is refused though nothing else ran. Where nothing is held, so that nothing
    moves, each of them must lie where it has room now.
    """
    cores, memory_mb = capacity.free_cores + held.cores, capacity.free_memory_mb + held.memory_mb
    if wanted.cores > held.cores and wanted.cores > cores:
        return f"{wanted.cores} cores of the cluster, which has {cores} for it"
    if wanted.memory_mb > held.memory_mb and wanted.memory_mb > memory_mb:
        return f"{wanted.memory_mb:,} MB of the cluster's memory, which has {memory_mb:,} MB for it"
    lacking = _not_placed(wanted, capacity, f"the cluster is {capacity.sentence()}")
    if lacking or held != NOTHING:
        return lacking
    return _not_placed(wanted, capacity.unused(), f"what is free is {capacity.unused_sentence()}")


def check_fits(
    job: str, wanted: Mapping[str, int], before: Mapping[str, int] | None, runs: bool, capacity: Capacity, less: str
) -> None:
    """Pass where driver and executors of a version with the wanted settings can be placed.

    `before` are its settings so far (None: it is new); with `runs` it has what they take, and gives it back. What takes
    no more than before needs nothing free. `less` is the command by which less is asked for. Raises DoesNotFit.
    """
    after, known = size_of(wanted), size_of(before) if before else NOTHING
    held = known if runs or not after.exceeds(known) else NOTHING
    if after != known and (lacking := shortage(after, held, capacity)):
        raise DoesNotFit(job, lacking, less)


def placeable(wanted: Size, capacity: Capacity) -> int | None:
    """How many executors of this size have room beside one driver on the hosts, were they empty, up to the wanted
    number; None where the driver itself has none. An executor lies on one host, and so does the driver."""
    found = [
        sum(_executors_on(other, wanted, with_driver=number == place) for number, other in enumerate(capacity.hosts))
        for place, host in enumerate(capacity.hosts)
        if host.cores >= wanted.driver_cores and host.memory_mb >= wanted.driver_memory_mb
    ]
    return min(wanted.executors, max(found)) if found else None


def _executors_on(host: Host, wanted: Size, with_driver: bool) -> int:
    if not wanted.executors:
        return 0
    cores = host.cores - (wanted.driver_cores if with_driver else 0)
    memory_mb = host.memory_mb - (wanted.driver_memory_mb if with_driver else 0)
    return min(cores // wanted.executor_cores, memory_mb // wanted.executor_memory_mb)


def _not_placed(wanted: Size, capacity: Capacity, there_is: str) -> str:
    """What of it has no room on these hosts, and what there is; empty where all of it has."""
    placed = placeable(wanted, capacity)
    if placed is None:
        return _too_large("a driver", wanted.driver_cores, wanted.driver_memory_mb, there_is)
    if placed < wanted.executors:
        what = f"{wanted.executors} executors, of which {placed} can be placed: one"
        return _too_large(what, wanted.executor_cores, wanted.executor_memory_mb, there_is)
    return ""


def _too_large(what: str, cores: int, memory_mb: int, there_is: str) -> str:
    return f"{what} of {cores} cores and {memory_mb:,} MB on one host, and {there_is}"
