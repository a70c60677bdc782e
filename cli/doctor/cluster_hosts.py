"""Tries each host of Spark: clock, secrets, environment, room and the store, by a program that runs on all of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

from cli.doctor.trial import Trial, Wrong
from cli.entry import CHECKOUT
from kappa.cluster import ALIVE, Cluster, DriverState
from kappa.code import artifacts, known_artifacts
from kappa.core import changes, environment
from kappa.core.installation import host_facts
from kappa.core.installation.host_facts import Look
from kappa.core.installation.settings import Settings
from kappa.platform import cluster_of
from kappa.verbs.drivers.host_look import look_submission
from stack import disk
from stack.waiting import until

PART = "Spark"
SECONDS = 180.0
NEEDED_BYTES = disk.NEEDED_BYTES


def trials(settings: Settings) -> Iterator[Trial]:
    """All hosts at once."""
    yield Trial(PART, "each host", partial(look_at_hosts, settings, cluster_of(settings)))


def look_at_hosts(settings: Settings, cluster: Cluster) -> str:
    """What was tried, on how many hosts. Raises Wrong, Unreachable, and as the cluster's `submit`."""
    if not known_artifacts.sees_files(settings):
        return "not looked at: the program's code has to lie in the shared folder, so ask on a host that sees that"
    capacity = cluster.capacity()
    open_hosts = sum(host.free_cores > 0 for host in capacity.hosts)
    if capacity.free_cores < 2:
        return "not looked at: it takes two free cores, one for a driver and one for an executor"
    look = _look(settings, cluster, min(open_hosts, capacity.free_cores - 1))
    wrong = list(host_facts.findings(look, environment.present(), NEEDED_BYTES))
    if wrong:
        raise Wrong(
            "; ".join(f"{each.part}: {each.wrong}" for each in wrong),
            "; ".join(dict.fromkeys(f"{each.part}: {each.remedy}" for each in wrong)) + ".",
        )
    unseen = "" if len(look.hosts) >= len(capacity.hosts) else " (the others have no free core)"
    what = "clocks, secrets, environment, room, store"
    return f"{len(look.hosts)} of {len(capacity.hosts)} looked at{unseen}: {what}"


def _look(settings: Settings, cluster: Cluster, hosts: int) -> Look:
    """What a program saw that runs on so many hosts, with a copy of this code in a folder that they share."""
    launch = uuid4()
    folder = changes.work_folder(settings.shared, launch)
    out = folder / "hosts.json"
    artifacts.copy_sources(CHECKOUT, folder / "code")
    name = None
    try:
        name = cluster.submit(look_submission(settings, folder / "code", launch, hosts, out))
        said = partial(cluster.state, launch, [name])
        until(lambda: out.exists() or said() not in ALIVE, SECONDS, pause=1.0)
        return _read(out, said())
    finally:
        if name:
            cluster.kill(launch, [name])
        shutil.rmtree(folder, ignore_errors=True)


def _read(out: Path, state: DriverState) -> Look:
    if not out.exists():
        raise Wrong(
            f"a program that looks at each host said nothing within {SECONDS:.0f} s; its driver is {state}",
            "Ask on a host that sees the shared folder by the workers' path, when other work leaves cores free; the "
            "driver's stderr is in the work folder of Spark's worker.",
        )
    return Look.from_json(json.loads(out.read_text()))
