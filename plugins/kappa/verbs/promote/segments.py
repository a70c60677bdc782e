"""Lists of segments as values: which version serves which windows, without gap or overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from kappa.core.refusals import Refusal
from kappa.core.versions import BEGINNING, OPEN_END, Segment

Segments = tuple[Segment, ...]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BrokenSegments(Refusal):
    """A list of segments has a gap, an overlap, or does not reach from the beginning to the open end."""

    def __init__(self, job: str, segments: Sequence[Segment]) -> None:
        super().__init__(
            f"the segments of {job} must serve every window by exactly one version, from the beginning to the open "
            f"end; they are {sentence(segments)}. Nothing was changed, readers see what they saw. Look with "
            f"'./kappa releases' which release wrote them, and report it: no verb makes such a list."
        )


def instant_ms(edge: str) -> float:
    """A segment's edge as epoch ms, or as one of the two infinities."""
    if edge in (BEGINNING, OPEN_END):
        return -math.inf if edge == BEGINNING else math.inf
    return (datetime.fromisoformat(edge) - EPOCH) / timedelta(milliseconds=1)


def edge(starts_ms: int | None) -> str:
    """T as a segment's edge, in the notation of Postgres at UTC; the beginning for None."""
    if starts_ms is None:
        return BEGINNING
    return f"{(EPOCH + timedelta(milliseconds=starts_ms)).replace(tzinfo=None).isoformat(' ')}+00"


def of_job(job: str, segments: Iterable[Segment]) -> Segments:
    """A job's segments, in order."""
    return tuple(sorted((s for s in segments if s.job == job), key=lambda s: instant_ms(s.from_window)))


def of_jobs(jobs: Iterable[str], segments: Iterable[Segment]) -> Segments:
    """The segments of several jobs, by job and in order."""
    held = tuple(segments)
    return tuple(segment for job in jobs for segment in of_job(job, held))


def check_whole(job: str, segments: Sequence[Segment]) -> None:
    """Pass when the list, in order, serves every window once. Raises BrokenSegments."""
    edges = [(instant_ms(s.from_window), instant_ms(s.to_window)) for s in segments]
    whole = bool(edges) and edges[0][0] == -math.inf and edges[-1][1] == math.inf
    if not whole or any(start >= end for start, end in edges) or any(a[1] != b[0] for a, b in pairwise(edges)):
        raise BrokenSegments(job, segments)


def with_open_end(segments: Segments, job: str, version: int, from_window: str) -> Segments:
    """The job's list with every window from `from_window` on served by the version; what served before keeps the
    windows before."""
    at = instant_ms(from_window)
    kept = [s for s in segments if instant_ms(s.from_window) < at]
    if kept and instant_ms(kept[-1].to_window) > at:
        kept[-1] = replace(kept[-1], to_window=from_window)
    if kept and kept[-1].version == version:
        return (*kept[:-1], replace(kept[-1], to_window=OPEN_END))
    return (*kept, Segment(job, from_window, OPEN_END, version))


def same(one: Iterable[Segment], other: Iterable[Segment]) -> bool:
    """Whether two lists say the same, however their edges are written."""
    return _as_instants(one) == _as_instants(other)


def first_difference(before: Segments, after: Segments) -> str:
    """The first edge from which on the two lists of one job name different versions; the open end if they do not."""
    edges = {instant_ms(s.from_window): s.from_window for s in (*before, *after)}
    return next((edges[at] for at in sorted(edges) if serving(before, at) != serving(after, at)), OPEN_END)


def serving(segments: Iterable[Segment], at_ms: float) -> int | None:
    """The version that serves the window beginning at that instant."""
    inside = (s for s in segments if instant_ms(s.from_window) <= at_ms < instant_ms(s.to_window))
    return next((s.version for s in inside), None)


def sentence(segments: Sequence[Segment]) -> str:
    """A job's list for people."""
    return ", ".join(f"v{s.version} {span(s)}" for s in segments) or "none"


def span(segment: Segment) -> str:
    """A segment's windows for people."""
    start, end = segment.from_window, segment.to_window
    if (start, end) == (BEGINNING, OPEN_END):
        return "all windows"
    return " ".join(([] if start == BEGINNING else [f"from {start}"]) + ([] if end == OPEN_END else [f"up to {end}"]))


def _as_instants(segments: Iterable[Segment]) -> list[tuple[str, float, float, int]]:
    return sorted((s.job, instant_ms(s.from_window), instant_ms(s.to_window), s.version) for s in segments)
