"""Advice on a version's size, from its lag and utilisation; nothing acts on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kappa.core.job_catalog import EXECUTOR_CORES, EXECUTORS, STATE_PARTITIONS, working_cores
from kappa.core.serialization import Serializable
from kappa.core.versions import Health

BEHIND_SECONDS = 60.0
"""A lag beyond this is no burst that the next batch takes."""
FULL = 1.0
"""Batches take all of the time that the cadence gives them."""
IDLE = 0.1
"""Batches leave nine tenths of the time unused."""
SHORT_BATCH_MS = 5_000
"""In a batch as short as this, what every batch costs whatever it reads weighs most."""


class Size(StrEnum):
    """What would suit a version better."""

    MORE = "more"
    FEWER = "fewer"
    LARGER_BATCHES = "larger_batches"


@dataclass(frozen=True)
class Advice(Serializable):
    """What would suit a version better, in words, and the numbers it is told from."""

    size: Size
    sentence: str
    numbers: Mapping[str, float]


def advise(health: Health, settings: Mapping[str, int], job: str = "JOB") -> Advice | None:
    """What would suit a version with these settings better; None when its size fits, or no batch is known.

    Utilisation is the latest batch's time over the cadence (ms over ms, a cadence of 0 counted as 1: such a version
    always works, and is advised by its lag alone).
    """
    if health.batch_ms is None:
        return None
    utilisation = health.batch_ms / max(settings["cadence_ms"], 1)
    behind = health.lag_seconds > BEHIND_SECONDS
    capped = health.lag_events > settings["records_per_batch"]
    if behind and capped and (utilisation < FULL or health.batch_ms < SHORT_BATCH_MS):
        return _larger(health, settings, utilisation, job)
    if behind and utilisation >= FULL:
        return _more(health, settings, utilisation, job)
    if not behind and utilisation < IDLE and working_cores(settings) > 1:
        return _fewer(health, settings, utilisation, job)
    return None


def _larger(health: Health, settings: Mapping[str, int], utilisation: float, job: str) -> Advice:
    wanted = 2 * settings["records_per_batch"]
    sentence = (
        f"{_behind(health)}, and batches of {settings['records_per_batch']:,} records take {health.batch_ms:,} ms: "
        f"larger batches cost less a record (./kappa deploy {job} --set records_per_batch={wanted})"
    )
    return Advice(Size.LARGER_BATCHES, sentence, _numbers(health, settings, utilisation))


def _more(health: Health, settings: Mapping[str, int], utilisation: float, job: str) -> Advice:
    cores = 2 * working_cores(settings)
    partitions = settings.get(STATE_PARTITIONS, cores)
    also = f" --partitions {cores}" if partitions < cores else ""
    option = f"--executors {2 * settings[EXECUTORS]}" if settings[EXECUTORS] else f"--cores {cores}"
    sentence = (
        f"{_behind(health)}, and batches take {utilisation:.1f} times the cadence: more cores"
        f"{' and state partitions' if also else ''} would help (./kappa rescale {job} {option}{also})"
    )
    return Advice(Size.MORE, sentence, _numbers(health, settings, utilisation))


def _fewer(health: Health, settings: Mapping[str, int], utilisation: float, job: str) -> Advice:
    executors, cores = settings[EXECUTORS], settings[EXECUTOR_CORES]
    option = f"--executors {executors // 2}" if executors > 1 else f"--cores {cores // 2}"
    sentence = (
        f"the latest batch took {utilisation:.0%} of the cadence on {working_cores(settings)} cores, and nothing "
        f"waits: fewer cores may do (./kappa rescale {job} {option})"
    )
    return Advice(Size.FEWER, sentence, _numbers(health, settings, utilisation))


def _behind(health: Health) -> str:
    return f"{health.lag_events:,} records are unread, the oldest for {health.lag_seconds:.0f} s"


def _numbers(health: Health, settings: Mapping[str, int], utilisation: float) -> dict[str, float]:
    names = ("cadence_ms", "records_per_batch", EXECUTORS, EXECUTOR_CORES, STATE_PARTITIONS)
    present = {name: float(settings[name]) for name in names if name in settings}
    measured = {"batch_ms": float(health.batch_ms or 0), "lag_events": float(health.lag_events)}
    return {"utilisation": round(utilisation, 3), "lag_seconds": health.lag_seconds, **measured, **present}
