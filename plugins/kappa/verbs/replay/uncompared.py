"""Windows that a candidate would come to serve without having been compared on them.

A candidate is compared with the live version. Windows before that one's start may be served by an earlier version: a
replay from further back replaces those, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kappa.core.refusals import Refusal
from kappa.core.replays import Approval
from kappa.core.requests.reprocessing import ReprocessRequest
from kappa.core.validation import Parity
from kappa.core.versions import Segment, Version
from kappa.verbs.desired import Found
from kappa.verbs.promote.segments import Segments, edge, instant_ms, of_job
from kappa.verbs.start_point import StartPoint, utc


class ReplacesUncompared(Refusal):
    """A candidate would replace windows of another version than the one that it is compared with."""

    def __init__(self, job: str, live: Version, others: Sequence[Segment]) -> None:
        since = utc(int(instant_ms(others[-1].to_window)))
        super().__init__(
            f"a candidate of {job} is compared with the live v{live.version} only, which serves from {since} on; from "
            f"this start it would also replace {_windows(others)}, unseen. Nothing was staged. Start where "
            f"v{live.version} does (--from {since}), or have a person answer for it (--parity report --approve ask)."
        )


def uncompared(
    request: ReprocessRequest,
    approval: Approval,
    found: Mapping[str, Found],
    live: Mapping[str, Version],
    start: StartPoint,
) -> tuple[str, ...]:
    """What the candidates of a replay would replace unseen, a sentence for each job; only a person may agree to it.

    Raises ReplacesUncompared.
    """
    said = []
    for job in request.catalogued():
        others = replaced(job.name, live[job.name], found[job.name].segments, start.starts_ms) if job.keys else ()
        if others and not (request.parity is Parity.REPORT and approval is Approval.ASK):
            raise ReplacesUncompared(job.name, live[job.name], others)
        said += [f"{job.name}: {_windows(others)}"] if others else []
    return tuple(said)


def replaced(job: str, live: Version, segments: Sequence[Segment], starts_ms: int | None) -> Segments:
    """The segments, in order, of windows from T on that another version than the live one serves."""
    at = instant_ms(edge(starts_ms))
    return tuple(s for s in of_job(job, segments) if s.version != live.version and instant_ms(s.to_window) > at)


def _windows(segments: Sequence[Segment]) -> str:
    return ", ".join(f"the windows of v{s.version} ({s.from_window} to {s.to_window})" for s in segments)
