"""The pace of a version's batches: while it is far behind, fewer and larger ones at the same records per second.

Most of what a small batch costs is the batch itself: planning it, its tasks, the state's and the checkpoint's files. A
version that is held to a rate by small batches (a replay with `--rate`) would spend the processor on them.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.log import Offsets
from jobs.reach import Ends

LONGEST_MS = 10_000
MOST_RECORDS = 50_000
"""A wider batch has no more than this: about what one core reads within the cadence beside other work."""
BEGINS_AT = 3
"""So many wider batches must be unread for them to begin: going over to them and back costs two starts of a query."""


def wider(usual: Mapping[str, int]) -> dict[str, int]:
    """These settings with `cadence_ms` and `records_per_batch` that many times larger as the limits here allow."""
    cadence, most = usual["cadence_ms"], usual["records_per_batch"]
    times = max(1, min(LONGEST_MS // cadence, MOST_RECORDS // most)) if cadence else 1
    return {**usual, "cadence_ms": times * cadence, "records_per_batch": times * most}


def begin(usual: Mapping[str, int], unread: int) -> dict[str, int]:
    """The settings of a query that starts with so many records unread."""
    wide = wider(usual)
    return wide if unread >= BEGINS_AT * wide["records_per_batch"] else dict(usual)


def ends(given: Mapping[str, int], usual: Mapping[str, int], unread: int | None) -> bool:
    """Whether a query with the settings `given` has come so near that it is to go on by the usual ones."""
    return unread is not None and given["cadence_ms"] > usual["cadence_ms"] and unread < given["records_per_batch"]


def unread(reached: Offsets, known: Ends | None) -> int | None:
    """The records between these offsets and the newest known ends of the log; None: not known."""
    if known is None:
        return None
    return sum(max(0, end - reached[p]) for p, end in known.offsets.items() if p in reached)
