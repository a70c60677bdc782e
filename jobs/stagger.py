"""When in a cadence the batches of a job begin: each job's at a time of its own, so that jobs that share a machine take
turns.

Spark's trigger fires at multiples of the cadence by the machine's clock. By themselves the drivers of all jobs would
begin together, share the cores for the length of two batches, and leave them idle afterwards (docs/decisions/0076).
"""

from __future__ import annotations

import time

from kappa.core.job_catalog import JOBS

STRIDE_MS = 1_000
"""The turns of all jobs are within this, or within their cadence if that is shorter."""
MOST_CADENCE_MS = 2_000
"""Batches that begin less often seldom meet; and a driver that is to stop waits for no longer than this."""


def turn_ms(job: str, cadence_ms: int) -> int:
    """How long after a multiple of its cadence a job's batches begin, less than a cadence; 0 where they are left
    alone."""
    if cadence_ms > MOST_CADENCE_MS:
        return 0
    return list(JOBS).index(job) * min(cadence_ms, STRIDE_MS) // len(JOBS)


def rest_ms(began_ms: float, now_ms: float, cadence_ms: int, turn_ms: int) -> float:
    """How long a batch that began then is to rest at its end, epoch ms: until the turn after the trigger's next time.
    Past its time the trigger fires at once. A batch that took longer does not rest."""
    if not turn_ms:
        return 0.0
    trigger_ms = (began_ms // cadence_ms + 1) * cadence_ms
    return max(0.0, trigger_ms + turn_ms - now_ms)


def rest(job: str, cadence_ms: int, took_seconds: float) -> float:
    """Rest at the end of a batch that took so long; for how many seconds, less than two cadences.

    The clock is asked once: one that is wrong, or is set meanwhile, moves turns and makes no rest longer.
    """
    now_ms = time.time() * 1_000
    left = rest_ms(now_ms - took_seconds * 1_000, now_ms, cadence_ms, turn_ms(job, cadence_ms)) / 1_000
    time.sleep(left)
    return left
