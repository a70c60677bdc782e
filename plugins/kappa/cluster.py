"""What a cluster has for drivers and executors: its hosts, with cores and memory, in all and free."""

from __future__ import annotations

from dataclasses import dataclass


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

    def sentence(self) -> str:
        """What it has in all, for people."""
        cores, memory_mb = sum(host.cores for host in self.hosts), sum(host.memory_mb for host in self.hosts)
        hosts = "1 host" if len(self.hosts) == 1 else f"{len(self.hosts)} hosts"
        return f"{hosts} with {cores} cores and {memory_mb:,} MB"
