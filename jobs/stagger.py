"""When in a cadence the batches of a job begin: each job's at a time of its own, so that jobs that share a machine take
turns; and every other turn is left out while the machine has next to no idle time.

Spark's trigger fires at multiples of the cadence by the machine's clock. By themselves the drivers of all jobs would
begin together, share the cores for the length of two batches, and leave them idle afterwards (docs/decisions/0076).
"""

from __future__ import annotations

import time

import psutil

from kappa.core.job_catalog import JOBS, UNHURRIED_MS, longest_ms

MOST_CADENCE_MS = 2_000
"""Batches that begin less often seldom meet; and a driver that is to stop waits for no longer than this."""
BUSY_PERCENT = 90.0
"""A machine whose processors were at work for more of the time since the batch before is busy: shorter waits would only
lengthen the batches (docs/decisions/0101)."""


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


def rest_ms(began_ms: float, now_ms: float, cadence_ms: int, turn_ms: int, every_ms: int) -> float:
    """How long a batch that began then is to rest at its end, epoch ms: until its turn in the next cadence, or where
    batches begin less often in a later one. Past its time the trigger fires at once. A batch that took longer does not
    rest."""
    if not 0 < cadence_ms <= MOST_CADENCE_MS or (not turn_ms and every_ms == cadence_ms):
        return 0.0
    next_ms = began_ms // cadence_ms * cadence_ms + every_ms
    return max(0.0, next_ms + turn_ms - now_ms)


def rest(job: str, cadence_ms: int, took_seconds: float) -> float:
    """Rest at the end of a batch that took so long; for how many seconds, less than two cadences, or three where every
    other turn is left out.

    The clock is asked once: one that is wrong, or is set meanwhile, moves turns and makes no rest longer.
    """
    every_ms = longest_ms(cadence_ms) if psutil.cpu_percent() > BUSY_PERCENT else cadence_ms
    now_ms = time.time() * 1_000
    turn = turn_ms(job, cadence_ms)
    left = rest_ms(now_ms - took_seconds * 1_000, now_ms, cadence_ms, turn, every_ms) / 1_000
    time.sleep(left)
    return left
