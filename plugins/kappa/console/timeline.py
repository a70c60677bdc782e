"""The time line of the page *Releases*: from when to when each version was there, was computed anew, was changed and
served, and what a release was: a first deployment, a promotion or a roll-back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kappa.core.changes import Phase
from kappa.core.versions import BEGINNING, OPEN_END, OVER

Row = Mapping[str, Any]
Span = tuple[datetime | None, datetime | None]
"""A time that a version served: since (None: since it was made) and until (None: it still does)."""


def kind(release: Row) -> str:
    """What a release was: a first `deployment`, a `roll-back` to versions that are older than what served before it, or
    a `promotion`, whose candidates are always newer."""
    before, after = (_serving(release[name]) for name in ("segments_before", "segments_after"))
    if not before:
        return "deployment"
    return "roll-back" if any(after.get(job, version) < version for job, version in before.items()) else "promotion"


def lanes(
    versions: Iterable[Row],
    releases: Iterable[Row],
    segments: Sequence[Row],
    replays: Sequence[Row] = (),
    changes: Sequence[Row] = (),
) -> list[dict[str, Any]]:
    """[{"job", "version", "state", "made", "ended", "served": [{"since", "until"}], "windows": [{"from", "to"}],
    "replays": [{"since", "until", "is", "by", "outcome"}], "changes": [{"since", "until", "verb", "undone"}]}] by job,
    the oldest first.

    `ended` is None while it is kept, `until` None while it is so. What served before the oldest of the releases given
    is taken to have served since it was made. `windows` are those that it answers for now, None where there is no edge;
    of replays a lane has those whose candidate it is, a `proof` or a `replay`.
    """
    spans = served(releases, segments)
    shown = sorted(versions, key=lambda row: (row["job"], row["version"]))
    return [
        {
            **_lane(row, spans[row["job"], row["version"]]),
            "windows": [_windows(held) for held in segments if _same(held, row)],
            "replays": [_replay(held) for held in replays if held["versions"].get(row["job"]) == row["version"]],
            "changes": [_change(held) for held in changes if _same(held, row)],
        }
        for row in shown
    ]


def _lane(row: Row, spans: Iterable[Span]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("job", "version", "state")},
        "made": row["created_at"],
        "ended": row["updated_at"] if row["state"] in OVER else None,
        "served": [{"since": since or row["created_at"], "until": until} for since, until in spans],
    }


def _same(held: Row, row: Row) -> bool:
    return (held["job"], held["version"]) == (row["job"], row["version"])


def _windows(segment: Row) -> dict[str, datetime | None]:
    edges = {"from": segment["from_window"], "to": segment["to_window"]}
    return {
        name: None if edge in (BEGINNING, OPEN_END) else datetime.fromisoformat(edge) for name, edge in edges.items()
    }


def _replay(held: Row) -> dict[str, Any]:
    name = "replay" if held["promote"] else "proof"
    span = {"since": held["begun_at"], "until": held["ended_at"]}
    return {**span, "is": name, "by": held["asked_by"], "outcome": held["outcome"] or "under way"}


def _change(held: Row) -> dict[str, Any]:
    span = {"since": held["begun_at"], "until": held["ended_at"]}
    return {**span, "verb": held["verb"], "undone": held["phase"] == Phase.UNDONE}


def served(releases: Iterable[Row], segments: Sequence[Row]) -> defaultdict[tuple[str, int], list[Span]]:
    """When each (job, version) served: what served before the oldest of the releases given, since None."""
    spans: defaultdict[tuple[str, int], list[Span]] = defaultdict(list)
    since: dict[str, datetime] = {}
    for release in sorted(releases, key=lambda row: row["promoted_at"]):
        before = _serving(release["segments_before"])
        for job, version in _serving(release["segments_after"]).items():
            if before.get(job) != version:
                if job in before:
                    spans[job, before[job]].append((since.get(job), release["promoted_at"]))
                since[job] = release["promoted_at"]
    for job, version in _serving(segments).items():
        spans[job, version].append((since.get(job), None))
    return spans


def _serving(segments: Sequence[Row]) -> dict[str, int]:
    """The version of each job that serves the newest windows."""
    return {segment["job"]: segment["version"] for segment in segments if segment["to_window"] == OPEN_END}
