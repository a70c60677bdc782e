"""Lists of segments: one way to write a moment, and no gap or overlap in them (contract, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from kappa.core.replays import HandOver, Release
from kappa.core.versions import BEGINNING, OPEN_END, Segment
from kappa.registry.releases_port import BrokenSegments


def canonical(plan: HandOver) -> HandOver:
    """The plan with its moments as the registry writes them and in its order.

    Raises BrokenSegments; ValueError for a plan whose olds or targets do not serve the open end.
    """
    before, after = ordered(plan.before), ordered(plan.after)
    for job in plan.jobs:
        check_cover(job, [segment for segment in after if segment.job == job])
    if (serving_end(before), serving_end(after)) != (set(plan.olds.items()), set(plan.targets.items())):
        raise ValueError(f"olds and targets of {plan} are not what its segments say of the open end")
    return replace(
        plan, jobs=tuple(sorted(plan.jobs)), before=before, after=after,
        from_window=moment(plan.from_window),
    )  # fmt: skip


def carried_out(plan: HandOver, release: Release, found: Sequence[Segment]) -> bool:
    """Whether a release of the same run was this plan's, or one that was made anew while its segments are in force."""
    return release.after == plan.after and (release.before == plan.before or tuple(found) == plan.after)


def ordered(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Segments by job and time, their moments as the registry writes them."""
    written = (replace(s, from_window=moment(s.from_window), to_window=moment(s.to_window)) for s in segments)
    return tuple(sorted(written, key=lambda s: (s.job, s.from_window != BEGINNING, s.from_window)))


def moment(text: str) -> str:
    """An instant as Postgres writes it in UTC, or an infinite one; of any ISO 8601 text with a zone."""
    if text in (BEGINNING, OPEN_END):
        return text
    written = datetime.fromisoformat(text).astimezone(UTC).isoformat(" ")
    return written.removesuffix(":00")


def check_cover(job: str, segments: Sequence[Segment]) -> None:
    """Pass when the job's segments, in order, cover all windows once. Raises BrokenSegments."""
    if not segments or (segments[0].from_window, segments[-1].to_window) != (BEGINNING, OPEN_END):
        raise BrokenSegments(job, "do not reach from the first window to the open end")
    for one, next_one in pairwise(segments):
        if one.to_window != next_one.from_window:
            raise BrokenSegments(job, f"end at {one.to_window} and go on at {next_one.from_window}")


def serving_end(segments: Iterable[Segment]) -> set[tuple[str, int]]:
    """Who serves the open end, as (job, version)."""
    return {(s.job, s.version) for s in segments if s.to_window == OPEN_END}
