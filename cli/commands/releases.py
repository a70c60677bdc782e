"""The command `releases`: what served when, who promoted it, and which offsets the hand-over went by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from cli import output
from cli.entry import settings
from cli.operator_connection import Reading, looking
from cli.options import Json
from kappa.core.job_catalog import find
from kappa.core.versions import OPEN_END

_RELEASES = """
select release_id, jobs, segments_before, segments_after, offsets_before, offsets_after, promoted_at, promoted_by,
    approved_by, evidence
from ops.releases where %(job)s::text is null or %(job)s = any(jobs) order by release_id desc limit %(last)s"""
HEADINGS = ("at", "by", "approved by", "serves from then on", "next offsets, old -> new", "took", "reason")


def register(app: typer.Typer) -> None:
    """Add this family's commands to the application."""
    app.command()(releases)


def releases(
    job: Annotated[str | None, typer.Option(help="Only of this job.")] = None,
    last: Annotated[int, typer.Option(metavar="N", min=1, help="The newest so many.")] = 20,
    as_json: Json = False,
) -> None:
    """Show what was released, the newest first: segments and offsets before and after."""
    name = None if job is None else find(job).name
    with looking(settings()) as connection:
        found = newest(connection, name, last)
    if as_json:
        typer.echo(json.dumps([_json(release) for release in found], indent=2, default=str))
        return
    output.table("release", HEADINGS, [row(release) for release in found])
    if not found:
        output.err.print("no such release", highlight=False)


def newest(connection: Reading, job: str | None, last: int) -> list[dict[str, Any]]:
    """The newest releases, the newest first, with the columns of ops.releases."""
    return connection.execute(_RELEASES, {"job": job, "last": last}).fetchall()


def row(release: Mapping[str, Any]) -> tuple[str | None, ...]:
    """A release for people: what serves, and how many records old and new version had read when it moved."""
    evidence = release["evidence"] or {}
    seconds = evidence.get("hand_over_seconds")
    return (
        str(release["release_id"]), f"{release['promoted_at']:%Y-%m-%d %H:%M:%S}", release["promoted_by"],
        release["approved_by"], "\n".join(_served(job, release) for job in sorted(release["jobs"])),
        "\n".join(_offsets(job, release) for job in sorted(release["jobs"])),
        None if seconds is None else f"{seconds:.1f} s", evidence.get("reason"),
    )  # fmt: skip


def _served(job: str, release: Mapping[str, Any]) -> str:
    """`ad_ctr v1 -> v2, v2 from 2026-01-31 09:30:00+00`: the versions at the open end, then where windows changed."""
    before, after = (_of(job, release[side]) for side in ("segments_before", "segments_after"))
    was, will = (next((s["version"] for s in held if s["to_window"] == OPEN_END), None) for held in (before, after))
    name = f"{job} v{will}" if was is None else f"{job} v{was} -> v{will}"
    spans = [f"v{s['version']} from {s['from_window']}" for s in after]
    return f"{name}: " + ", ".join(spans) if len(spans) > 1 else f"{name}: all windows"


def _offsets(job: str, release: Mapping[str, Any]) -> str:
    """By partition, the next offset of the version that served and of the one that serves."""
    before, after = ((release[side] or {}).get(job) or {} for side in ("offsets_before", "offsets_after"))
    partitions = sorted({*before, *after}, key=int)
    return f"{job}: " + ", ".join(f"{p}: {_offset(before, p)}{after.get(p, 0):,}" for p in partitions)


def _offset(before: Mapping[str, int], partition: str) -> str:
    return f"{before[partition]:,} -> " if partition in before else ""


def _of(job: str, segments: Sequence[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    return [segment for segment in segments or () if segment["job"] == job]


def _json(release: Mapping[str, Any]) -> dict[str, Any]:
    return {**release, "promoted_at": release["promoted_at"].isoformat()}
