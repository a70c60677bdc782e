"""Two versions of a job held against each other, window by window, and the rows in which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kappa.console.database import Database, Reading
from kappa.console.numbers import SPANS, NoSuchChoice
from kappa.console.text import plain
from kappa.core.job_catalog import JOBS, Job
from kappa.core.measures import MEASURES
from kappa.core.refusals import Refusal
from kappa.core.versions import State

ROWS = 50
"""Differing rows that are shown, the first ones; they are counted all."""
WINDOWS = 200
"""Windows with a difference that are shown, the first ones; these, too, are counted all."""
COUNTS = ("equal", "differing", "only_left", "only_right")
LATEST = 253402300799
"""The last second of the contract's times."""

_VERSIONS = """
select v.version, v.state, v.starts_at, c.complete_through
from ops.versions v left join ops.reach c using (job, version)
where v.job = %(job)s and v.version in (%(left)s, %(right)s)"""
# The number of a version is a parameter of its own in each branch: so the planner reads that version's table alone.
_SIDE = "select * from ops.{table} where version = %({side})s and {windows}"
_JOINED = "from ({left}) l full join ({right}) r using ({keys})"
_BETWEEN = "window_start >= %(from)s and window_start < %(to)s"
_CHOSEN = "window_start = any(%(windows)s)"
_DIFFERS = " or ".join(f"l.{measure} <> r.{measure}" for measure in MEASURES)


class RowsGone(Refusal):
    """A version that is to be compared is retired."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is retired: its rows were deleted, so there is nothing to compare. What it was compared with "
            "before it was promoted is in the evidence of its release."
        )


def windowed() -> list[str]:
    """The jobs whose rows are windows: these can be compared."""
    return [job.name for job in JOBS.values() if job.keys]


def read(database: Database, job: str, left: int, right: int, span: str, until: int | None = None) -> dict[str, Any]:
    """The windows of a span, up to `until` (epoch seconds), that are final in both versions: {"job", "left", "right",
    "keys", "from", "to", "windows": {"compared", "differing", "rows": [{"at", each of COUNTS}]}, "totals": each of
    COUNTS, "rows": [{"window_start", the keys, "only", "differences": [{"measure", "left", "right", "difference"}]}]},
    "from" and "to" None where there is none. Raises NoSuchChoice, RowsGone, NotReadable, TooSlow."""
    asked = choice(job, left, right, span, until)
    with database.reading() as connection:
        known = {row["version"]: row for row in connection.execute(_VERSIONS, asked).fetchall()}
        sides = [_there(job, number, known) for number in (left, right)]
        bounds = compared(sides, SPANS[span], until)
        found: dict[str, Any] = {"job": job, "left": sides[0], "right": sides[1], "keys": JOBS[job].keys}
        if bounds is None:
            return {**plain(found), "from": None, "to": None, **_summed([]), "rows": []}
        asked |= {"from": bounds[0], "to": bounds[1]}
        windows = connection.execute(figures(JOBS[job]), asked, prepare=False).fetchall()
        rows = _differing(connection, JOBS[job], asked, windows)
    found |= {"from": bounds[0], "to": bounds[1], **_summed(windows), "rows": rows}
    shown: dict[str, Any] = plain(found)
    return shown


def choice(job: str, left: int, right: int, span: str, until: int | None) -> dict[str, Any]:
    """What was asked for, as parameters. Raises NoSuchChoice."""
    if job not in windowed():
        raise NoSuchChoice("job", job, f"rows of {', '.join(windowed())} are windows, which can be compared")
    if span not in SPANS:
        raise NoSuchChoice("span", span, f"there are {', '.join(SPANS)}")
    if left == right:
        raise NoSuchChoice("version", left, "a version is compared with another one")
    if until is not None and not 0 <= until <= LATEST:
        raise NoSuchChoice("until", until, "it is a time in seconds since 1970")
    return {"job": job, "left": left, "right": right}


def compared(sides: Sequence[Mapping[str, Any]], minutes: int, until: int | None) -> tuple[datetime, datetime] | None:
    """From when to when windows are compared: only where both have all records, and both are to have them. None where
    there is no such window."""
    ends = [side["complete_through"] for side in sides]
    if None in ends:
        return None
    asked = [datetime.fromtimestamp(until, UTC)] if until is not None else []
    end = min([*ends, *asked]).replace(second=0, microsecond=0)
    start = max([end - timedelta(minutes=minutes), *(s["starts_at"] for s in sides if s["starts_at"] is not None)])
    return (start, end) if start < end else None


def figures(job: Job) -> str:
    """The windows with their COUNTS."""
    return (
        f"select window_start as at, count(*) filter (where l.version is not null and r.version is not null "
        f"and not ({_DIFFERS})) as equal, count(*) filter (where {_DIFFERS}) as differing, "
        "count(*) filter (where r.version is null) as only_left, "
        f"count(*) filter (where l.version is null) as only_right {_joined(job, _BETWEEN)} "
        "group by window_start order by window_start"
    )


def differing_rows(job: Job) -> str:
    """The rows of chosen windows that differ, or that one side lacks."""
    values = ", ".join(f"{side}.{m} as {name}_{m}" for side, name in (("l", "left"), ("r", "right")) for m in MEASURES)
    keys = ", ".join(("window_start", *job.keys))
    return (
        f"select {keys}, case when r.version is null then 'left' when l.version is null then 'right' end as only, "
        f"{values} {_joined(job, _CHOSEN)} where l.version is null or r.version is null or {_DIFFERS} "
        f"order by {keys} limit {ROWS}"
    )


def _joined(job: Job, windows: str) -> str:
    left, right = (_SIDE.format(table=job.table, side=side, windows=windows) for side in ("left", "right"))
    return _JOINED.format(left=left, right=right, keys=", ".join((*job.keys, "window_start")))


def _there(job: str, number: int, known: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    if number not in known:
        raise NoSuchChoice("version", number, f"{job} has no such version")
    if known[number]["state"] == State.RETIRED:
        raise RowsGone(f"{job} v{number}")
    return known[number]


def _differing(
    connection: Reading, job: Job, asked: Mapping[str, Any], windows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The first rows that differ; looked for only in as many windows as hold them."""
    chosen = list(first_windows(windows))
    if not chosen:
        return []
    rows = connection.execute(differing_rows(job), {**asked, "windows": chosen}, prepare=False).fetchall()
    return [_row(job, row) for row in rows]


def first_windows(windows: Sequence[Mapping[str, Any]]) -> Iterator[datetime]:
    """The first windows that hold ROWS differing rows between them."""
    held = 0
    for window in windows:
        if held >= ROWS:
            return
        if wrong := _wrong(window):
            held += wrong
            yield window["at"]


def _row(job: Job, row: Mapping[str, Any]) -> dict[str, Any]:
    left, right = ({m: row[f"{side}_{m}"] or 0 for m in MEASURES} for side in ("left", "right"))
    return {
        **{name: row[name] for name in ("window_start", *job.keys, "only")},
        "differences": differences(left, right),
    }


def differences(left: Mapping[str, int], right: Mapping[str, int]) -> list[dict[str, Any]]:
    """The measures that differ, by how much; of what arrived (`seen`) only what differs by more than what counted."""
    by = {m: right[m] - left[m] for m in MEASURES}
    return [
        {"measure": m, "left": left[m], "right": right[m], "difference": by[m]}
        for m in MEASURES
        if by[m] and by[m] != by.get(m.removeprefix("seen_") if m.startswith("seen_") else "")
    ]


def _wrong(window: Mapping[str, Any]) -> int:
    return sum(int(window[name]) for name in COUNTS[1:])


def _summed(windows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The windows that differ, and all windows together."""
    wrong = [window for window in windows if _wrong(window)]
    totals = {name: sum(window[name] for window in windows) for name in COUNTS}
    shown = {"compared": len(windows), "differing": len(wrong), "rows": wrong[:WINDOWS]}
    return {"windows": shown, "totals": totals}
