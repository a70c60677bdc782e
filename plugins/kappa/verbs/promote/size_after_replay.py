"""What a promoted candidate still runs as because it was replayed small, and the command that gives it its size."""

from __future__ import annotations

from kappa.core.catalog import EXECUTOR_CORES
from kappa.core.versions import Version
from kappa.verbs.replay.candidate import CADENCE, RECORDS

SIZES = (EXECUTOR_CORES, CADENCE, RECORDS)
"""The settings by which `--cores` and `--rate` keep a replay small beside the live versions."""


def remedy(promoted: Version, before: Version) -> str | None:
    """A sentence with the deployment in place that gives the promoted version the size of the one before it; None
    where both have the same."""
    was, now = before.settings, promoted.settings
    other = [name for name in SIZES if name in was and was[name] != now.get(name)]
    if not other:
        return None
    given = " ".join(f"--set {name}={was[name]}" for name in other)
    return (
        f"{promoted.job} v{promoted.version} goes on as small as its replay was; as v{before.version} ran: "
        f"./kappa deploy {promoted.job} {given} --reason TEXT."
    )
