"""What a host of the cluster has, and what of it is wrong: clock, secrets, environment, room, the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.installation.findings import Finding
from kappa.core.serialization import Serializable

CLOCK_SECONDS = 5.0
"""So far a clock may be off: a signed request is taken for 60 s, and a beat that is 20 s old is a driver that is
gone."""


@dataclass(frozen=True)
class HostFacts(Serializable):
    """What one host has, as a program saw it there.

    `clock_off`: seconds by which its clock differs at least from that of the driver's host. `secrets`: by file, which
    of the contents that hosts have this one has, numbered from 0; None where it cannot be read. `environment`: versions
    as `kappa.core.environment.present`. `store`: what went wrong with a file there, empty where nothing did.
    `free_bytes`: room in the folder where Spark works.
    """

    host: str
    clock_off: float
    secrets: Mapping[str, int | None]
    environment: Mapping[str, str]
    store: str
    free_bytes: int


@dataclass(frozen=True)
class Look(Serializable):
    """What was seen of all hosts that Spark gave the program."""

    hosts: tuple[HostFacts, ...]


def findings(look: Look, environment: Mapping[str, str], needed_bytes: int) -> Iterator[Finding]:
    """What is wrong with hosts, where artifacts are built with this environment and so much room is needed."""
    for facts in look.hosts:
        yield from _of_host(facts, environment, needed_bytes)
    yield from _of_secrets(look.hosts)


def _of_host(facts: HostFacts, environment: Mapping[str, str], needed_bytes: int) -> Iterator[Finding]:
    host = facts.host
    if facts.clock_off > CLOCK_SECONDS:
        yield Finding(
            host,
            f"its clock is {facts.clock_off:.0f} s or more away from that of the driver's host",
            "have chrony or ntpd set it, on every host",
        )
    lacking = {name: found for name, found in facts.environment.items() if environment.get(name) != found}
    if lacking:
        there = ", ".join(f"{name} {found} (here {environment.get(name, 'none')})" for name, found in lacking.items())
        yield Finding(
            host,
            f"its environment differs: {there}; artifacts do not run there",
            "install the same there (uv sync with the commit's uv.lock), or correct spark.python ('shared': what "
            "'./kappa build' puts into the shared folder)",
        )
    for name in sorted(name for name, number in facts.secrets.items() if number is None):
        yield Finding(host, f"{name} cannot be read", "copy it from a host that has it, as Spark's user, mode 0600")
    if facts.store:
        yield Finding(host, f"the store: {facts.store}", "mount the folder there, or give the host the bucket's keys")
    if facts.free_bytes < needed_bytes:
        yield Finding(
            host,
            f"{facts.free_bytes / 1e9:.1f} GB are free where Spark works, and {needed_bytes / 1e9:.0f} GB should be",
            "free some space, or give the worker another --work-dir",
        )


def _of_secrets(hosts: Sequence[HostFacts]) -> Iterator[Finding]:
    for name in sorted({name for facts in hosts for name in facts.secrets}):
        held: dict[int, list[str]] = {}
        for facts in hosts:
            if (number := facts.secrets.get(name)) is not None:
                held.setdefault(number, []).append(facts.host)
        if len(held) > 1:
            told = " and ".join(", ".join(sorted(each)) for each in sorted(held.values()))
            yield Finding(
                name, f"{name} is not the same on {told}", "copy the one that counts to every host, mode 0600"
            )
