"""The pace of a version whose settings hold it to a rate by small batches: fewer and larger ones, at that rate.

Most of what a small batch costs is the batch itself: planning it, its tasks, the state's and the checkpoint's files.
Far behind, such a version has large batches that seldom begin. Near the end of the log it has its own cadence again,
and a batch takes all that is unread: it was allowed while the batch before it ran.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.driver.watermark import Ends
from kappa.core.job_catalog import MOST_KEPT
from kappa.core.log.kafka_log import Offsets

LONGEST_MS = 10_000
MOST_RECORDS = MOST_KEPT
"""A large batch has no more than this, as it may be the quarantine's (docs/decisions/0039)."""
FAR_BATCHES = 3
"""So many large batches are unread far behind; near the end it is less than one. To change costs a query's start."""


def far(usual: Mapping[str, int]) -> dict[str, int]:
    """These settings with `cadence_ms` and `records_per_batch` as many times larger as the limits here allow."""
    cadence, most = usual["cadence_ms"], usual["records_per_batch"]
    times = max(1, min(LONGEST_MS // cadence, MOST_RECORDS // most)) if cadence else 1
    return {**usual, "cadence_ms": times * cadence, "records_per_batch": times * most}


def near(usual: Mapping[str, int]) -> dict[str, int]:
    """These settings with the `records_per_batch` of `far`: what is read above the rate is no more than is unread."""
    return {**far(usual), "cadence_ms": usual["cadence_ms"]}


def begin(usual: Mapping[str, int], unread: int) -> dict[str, int]:
    """The settings of a query that starts with so many records unread."""
    return far(usual) if _is_far(far(usual), unread) else near(usual)


def is_over(given: Mapping[str, int], usual: Mapping[str, int], unread: int | None) -> bool:
    """Whether a query with the settings `given` is to make way for one at the other pace; not if `unread` is not
    known."""
    if unread is None or far(usual) == usual:
        return False
    if given["cadence_ms"] > usual["cadence_ms"]:
        return unread < given["records_per_batch"]
    return _is_far(given, unread)


def unread(reached: Offsets, known: Ends | None) -> int | None:
    """The records between these offsets and the newest known ends of the log; None: one or the other is not known."""
    if known is None or not reached:
        return None
    return sum(max(0, end - reached[p]) for p, end in known.offsets.items() if p in reached)


def _is_far(large: Mapping[str, int], unread: int) -> bool:
    return unread >= FAR_BATCHES * large["records_per_batch"]
