"""What a version takes of a cluster, and what is said where no hosts could place it."""

from __future__ import annotations

import pytest

from kappa.cluster import Capacity, Host
from kappa.core.job_catalog import find, resolve, working_cores
from kappa.verbs.drivers.size import NOTHING, DoesNotFit, Size, check_fits, placeable, shortage, size_of

SMALL = Host(cores=4, free_cores=4, memory_mb=2048, free_memory_mb=2048)


def settings(executors: int, cores: int = 2) -> dict[str, int]:
    return resolve(find("ad_ctr"), {"executors": executors, "executor_cores": cores})


def hosts(count: int, host: Host = SMALL) -> Capacity:
    return Capacity((host,) * count)


@pytest.mark.parametrize(
    ("executors", "working", "cores", "memory_mb"),
    [(0, 2, 2, 768), (1, 2, 3, 1024), (3, 6, 7, 2048)],
)
def test_each_executor_has_its_cores_and_heap_and_the_driver_then_one_core(
    executors: int, working: int, cores: int, memory_mb: int
) -> None:
    """Without executors the driver is one process with the heap of both."""
    taken = size_of(settings(executors))
    assert (taken.cores, taken.memory_mb) == (cores, memory_mb)
    assert working_cores(settings(executors)) == working


PLACED = [
    (Size(1, 512, 4, 2, 512), hosts(2), 3),  # the driver takes the place of one of four
    (Size(1, 512, 3, 2, 512), hosts(2), 3),
    (Size(1, 512, 2, 1, 1024), hosts(1), 1),  # cores for three, memory for one
    (Size(1, 512, 4, 4, 512), Capacity((*hosts(2).hosts, Host(1, 1, 512, 512))), 2),  # the small one takes the driver
    (Size(4, 768), hosts(1), 0),
    (Size(5, 768), hosts(3), None),
    (Size(1, 4096), hosts(3), None),
    (Size(1, 512), Capacity(()), None),
]


@pytest.mark.parametrize(("wanted", "capacity", "placed"), PLACED)
def test_a_driver_and_each_executor_lie_on_one_host(wanted: Size, capacity: Capacity, placed: int | None) -> None:
    assert placeable(wanted, capacity) == placed


BUSY = Host(cores=8, free_cores=1, memory_mb=8192, free_memory_mb=512)
HALF = Host(cores=4, free_cores=2, memory_mb=2048, free_memory_mb=1024)
SHORT = [
    (size_of(settings(0)), NOTHING, hosts(1), ""),
    (size_of(settings(0)), NOTHING, hosts(1, BUSY), "2 cores of the cluster, which has 1 for it"),
    (size_of(settings(0)), size_of(settings(0, 1)), hosts(1, BUSY), ""),
    (Size(1, 768), NOTHING, hosts(1, BUSY), "768 MB of the cluster's memory, which has 512 MB for it"),
    (Size(1, 768), Size(1, 256), hosts(1, BUSY), ""),
    (Size(6, 768), NOTHING, hosts(3), "a driver of 6 cores and 768 MB on one host, and the cluster is 3 hosts with 12"),
    (size_of(settings(3, 3)), NOTHING, hosts(4), ""),
    (
        Size(1, 512, 2, 5, 512),
        NOTHING,
        hosts(3),
        "2 executors, of which 0 can be placed: one of 5 cores and 512 MB on one host, and the cluster is 3 hosts",
    ),
    (
        Size(4, 768),
        NOTHING,
        hosts(2, HALF),
        "a driver of 4 cores and 768 MB on one host, and what is free is 2 cores and 1,024 MB on 2 hosts",
    ),
    (
        Size(1, 512, 2, 2, 512),
        NOTHING,
        Capacity((HALF, HALF, Host(4, 1, 2048, 2048))),
        "",
    ),
    (
        Size(1, 512, 2, 2, 512),
        NOTHING,
        Capacity((HALF, Host(4, 1, 2048, 512), Host(4, 1, 2048, 512), Host(4, 1, 2048, 512))),
        "2 executors, of which 1 can be placed: one of 2 cores and 512 MB on one host, and what is free is 2 cores and "
        "1,024 MB on 1 host, 1 core and 512 MB on 3 hosts",
    ),
    (Size(4, 768), Size(2, 768), hosts(2, HALF), ""),
]


@pytest.mark.parametrize(("wanted", "held", "capacity", "said"), SHORT)
def test_what_is_short_is_said_with_what_there_is(wanted: Size, held: Size, capacity: Capacity, said: str) -> None:
    """What the version has itself counts as free for it."""
    found = shortage(wanted, held, capacity)
    assert found.startswith(said) if said else found == ""


FULL = Capacity((Host(8, 0, 8192, 0),))


@pytest.mark.parametrize("runs", [True, False])
def test_what_takes_no_more_than_before_needs_nothing_free(runs: bool) -> None:
    for less in (settings(1), settings(2, 1), settings(0)):
        check_fits("ad_ctr", less, settings(2), runs, FULL, "less")


@pytest.mark.parametrize("before", [None, settings(1)])
def test_a_version_that_holds_nothing_needs_all_of_it_free(before: dict[str, int] | None) -> None:
    with pytest.raises(DoesNotFit, match=r"ad_ctr would take 5 cores .* nothing was changed. Give less \(less\)"):
        check_fits("ad_ctr", settings(2), before, False, FULL, "less")


def test_the_capacity_of_a_cluster_is_that_of_its_hosts() -> None:
    capacity = Capacity((SMALL, BUSY))
    assert (capacity.free_cores, capacity.free_memory_mb) == (5, 2560)
    assert capacity.sentence() == "2 hosts with 12 cores and 10,240 MB"
    assert hosts(1).sentence() == "1 host with 4 cores and 2,048 MB"
