"""When in a cadence the batches of a job begin: each job's at a time of its own, so that jobs that share a machine take
turns, and less often than the cadence says while they take too much of it.

Spark's trigger fires at multiples of the cadence by the machine's clock. By themselves the drivers of all jobs would
begin together, share the cores for the length of two batches, and leave them idle afterwards (docs/decisions/0076).
"""

from __future__ import annotations

import math
import time

from kappa.core.job_catalog import JOBS, UNHURRIED_MS, longest_ms

MOST_CADENCE_MS = 2_000
"""Batches that begin less often seldom meet; and a driver that is to stop waits for no longer than this."""
AT_WORK = 2 / 3
"""The share of the time until the next batch that one may have worked (docs/decisions/0101)."""


def turn_ms(job: str, cadence_ms: int) -> int:
    """How long after a multiple of its cadence a job's batches begin, less than a cadence; 0 where they are left
    alone. Jobs with a state share the time equally; one without, whose batches are short, begins just before them."""
    if cadence_ms > MOST_CADENCE_MS:
        return 0
    stride = min(cadence_ms, UNHURRIED_MS)
    stateful = [name for name, known in JOBS.items() if known.stateful]
    if job not in stateful:
        return stride - stride // 8
    return stateful.index(job) * stride // len(stateful)


def cadences(took_ms: float, cadence_ms: int) -> int:
    """After how many cadences the next batch begins where one took so long: as few as leave the machine its share of
    the time, but no more than a second has."""
    most = longest_ms(cadence_ms) // cadence_ms
    return max(1, min(most, math.ceil(took_ms / AT_WORK / cadence_ms)))


def rest_ms(began_ms: float, now_ms: float, cadence_ms: int, turn_ms: int) -> float:
    """How long a batch that began then is to rest at its end, epoch ms: until the turn after the time at which the
    trigger is to fire next. Past its time the trigger fires at once. A batch that took longer does not rest."""
    if not 0 < cadence_ms <= MOST_CADENCE_MS:
        return 0.0
    later = cadences(now_ms - began_ms, cadence_ms)
    if later == 1 and not turn_ms:
        return 0.0
    trigger_ms = (began_ms // cadence_ms + later) * cadence_ms
    return max(0.0, trigger_ms + turn_ms - now_ms)


def rest(job: str, cadence_ms: int, took_seconds: float) -> float:
    """Rest at the end of a batch that took so long; for how many seconds, less than two cadences, or less than a
    cadence and a second.

    The clock is asked once: one that is wrong, or is set meanwhile, moves turns and makes no rest longer.
    """
    now_ms = time.time() * 1_000
    left = rest_ms(now_ms - took_seconds * 1_000, now_ms, cadence_ms, turn_ms(job, cadence_ms)) / 1_000
    time.sleep(left)
    return left
