"""What serves which windows, and what a validation may look at already."""

from __future__ import annotations

from datetime import datetime

from tests.rigs.running_stack import Stack

BOTH = ("ad_ctr", "client_spend")
HALF_MINUTE = ("--set", "click_interval_ms=30000", "--parity", "declared")
"""A rule that counts fewer clicks; of a client of the edge's one of two."""
Segment = tuple[str, str, str, int]


def segments(stack: Stack) -> list[Segment]:
    """All segments: job, from, to, version."""
    query = "select job, from_window::text, to_window::text, version from ops.segments order by job, from_window"
    return [(job, low, high, version) for job, low, high, version in stack.query(query)]


def live(stack: Stack) -> dict[str, int]:
    """The version that serves the live end, by job."""
    return {job: version for job, _, high, version in segments(stack) if high == "infinity"}


def releases(stack: Stack) -> int:
    """How many there are."""
    ((count,),) = stack.query("select count(*) from ops.releases")
    return int(count)


def replays(stack: Stack) -> int:
    """How many were staged, and versions with them."""
    ((count,),) = stack.query("select (select count(*) from ops.replays) + (select count(*) from ops.versions)")
    return int(count)


def is_final(stack: Stack, window_end: datetime) -> bool:
    """Whether windows up to then are final in what serves both jobs."""
    query = "select min(complete_through) >= %s from serving.freshness where job = any(%s)"
    ((final,),) = stack.query(query, window_end, list(BOTH))
    return bool(final)


def read(stack: Stack, job: str = "ad_ctr") -> int:
    """Records that the live version of a job has read."""
    query = "select sum(read) from ops.batches where job = %s and version = %s"
    ((records,),) = stack.query(query, job, live(stack)[job])
    return int(records or 0)
