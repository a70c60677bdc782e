"""The page *Now*: what each version does at this moment, what is wrong, and the last hours of each job."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

from kappa.console.database import Database
from kappa.console.latency import Look, quantile, stretches, watched_seconds
from kappa.console.text import epoch, plain
from kappa.core.installation.settings import Settings
from kappa.status import red_lines, replays
from kappa.status.causes import MEANINGS, of_registry, readers

LOOK_SECONDS = 240
"""Over so long the latencies of *Now* are taken."""
LOOKS = 600
"""Looks that are kept of a version, the newest."""
TREND_SECONDS = 10
"""A look as old as this is thinned out to one in so many seconds: the line of the lag goes back over an hour."""

_SEEN = ("state_rows", "batch_ms", "action_ms")

# The clock is read once: with clock_timestamp() no index on committed_at could be used.
_VERSIONS = """
select v.job, v.version, v.state, v.desired, v.artifact, v.state_partitions, v.executor_cores,
    (v.settings ->> 'executors')::integer as executors, (v.settings ->> 'cadence_ms')::integer as cadence_ms,
    exists (select from ops.segments s where (s.job, s.version) = (v.job, v.version) and s.to_window = 'infinity')
        as serves,
    c.lag_events, c.lag_seconds, c.complete_through,
    d.batch_id, d.batch_ms, d.action_ms, d.committed_at, d.state_rows, d.state_bytes,
    nullif(d.watermark, timestamptz 'epoch') as watermark_at,
    extract(epoch from clock_timestamp() - d.beat_at)::double precision as beat_seconds,
    extract(epoch from clock_timestamp() - d.committed_at)::double precision as commit_seconds,
    p.newest, p.through, a.read,
    a.read - a.counted - a.duplicate - a.repeated_click - a.late - a.future - a.before_start - a.dead_letter
        as residual,
    m.read as minute_read, m.rows as minute_rows, m.batches as minute_batches,
    l.verb as held_verb, l.run_id as held_run, l.actor as held_by
from ops.versions v
join ops.accounting a using (job, version)
left join ops.drivers d using (job, version)
left join ops.reach c using (job, version)
left join ops.leases l on (l.job, l.version) = (v.job, v.version) and l.ends_at > clock_timestamp()
left join lateral (
    select max(read_append_time) as newest, min(greatest(read_append_time, drained_at)) as through
    from ops.progress p where (p.job, p.version) = (v.job, v.version)) p on true
cross join lateral (
    select coalesce(sum(b.read), 0)::bigint as read, coalesce(sum(b.rows_changed), 0)::bigint as rows,
        count(*) as batches
    from ops.batches b where (b.job, b.version) = (v.job, v.version)
        and b.committed_at > statement_timestamp() - interval '1 minute') m
where v.state <> 'RETIRED'
order by v.job, v.version"""

_HOURS = """
select job, version, extract(epoch from date_trunc('minute', committed_at))::bigint as minute,
    sum(read)::bigint as read, sum(rows_changed)::bigint as rows, count(*) as batches
from ops.batches
where committed_at > statement_timestamp() - %(hours)s * interval '1 hour'
    and committed_at < date_trunc('minute', statement_timestamp())
    and (job, version) in (select job, version from ops.versions where state <> 'RETIRED')
group by 1, 2, 3 order by 3"""
_MINUTE = "select extract(epoch from date_trunc('minute', statement_timestamp()))::bigint as now"
HOURS = 3


class Trend:
    """What was seen of a version while pages were open, a point every TREND_SECONDS, as far back as the lines go: the
    registry keeps the newest of these figures only."""

    def __init__(self) -> None:
        self._points: deque[dict[str, Any]] = deque(maxlen=HOURS * 3_600 // TREND_SECONDS)

    def add(self, at: float, row: Mapping[str, Any], latency: Mapping[str, Any]) -> None:
        """Keep a point, unless the newest is not old enough."""
        if not self._points or at - self._points[-1]["at"] >= TREND_SECONDS:
            of_row = {name: row[name] for name in _SEEN}
            self._points.append({"at": at, "p50": latency["p50"], "p99": latency["p99"], **of_row})

    def columns(self) -> dict[str, list[Any]]:
        """{"at": [s], "p50", "p99": [s], "state_rows", "batch_ms", "action_ms"}, the oldest first."""
        points = list(self._points)
        return {name: [point[name] for point in points] for name in ("at", "p50", "p99", *_SEEN)}


class Now:
    """What *Now* shows; it keeps the looks of the last while, from which latencies and the lag's line come."""

    def __init__(self, database: Database, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._database, self._settings, self._clock = database, settings, clock
        self._looks: dict[tuple[str, int], deque[Look]] = {}
        self._trends: defaultdict[tuple[str, int], Trend] = defaultdict(Trend)
        self._writing = threading.Lock()

    def read(self) -> dict[str, Any]:
        """{"at", "versions": [...], "red": [...] of `red_lines`, `explained`, "questions": how many replays wait to be
        approved or rejected}. Raises NotReadable, TooSlow."""
        at = self._clock()
        with self._database.reading() as connection:
            rows = connection.execute(_VERSIONS).fetchall()
            red = red_lines.read(connection, self._settings.topic.retention_hours)
            questions = replays.questions(connection)
        red += red_lines.broken_accounts(rows)
        not_serving = {f"{row['job']} v{row['version']}" for row in rows if not row["serves"]}
        red = [explained(line, line["of"] not in not_serving, self._settings.is_embedded) for line in red]
        shown = [self._version(row, at) for row in rows]
        return {"at": at, "versions": shown, "red": plain(red), "questions": questions}

    def hours(self) -> dict[str, Any]:
        """By version "JOB vN" the minutes of the last hours: {"minute": [s], "read": [...], "rows": [...],
        "batches": [...], "lag": {"at": [s], "events": [...], "seconds": [...]}, "seen": as `Trend` has it}. Raises
        NotReadable, TooSlow."""
        with self._database.reading() as connection:
            rows = connection.execute(_HOURS, {"hours": HOURS}).fetchall()
            (minute,) = connection.execute(_MINUTE).fetchall()
        with self._writing:
            looks = {key: list(held) for key, held in self._looks.items()}
            seen = {f"{job} v{version}": trend.columns() for (job, version), trend in self._trends.items()}
        lines = by_version(rows, looks, minute["now"])
        return {"hours": HOURS, "versions": {name: {**line, "seen": seen.get(name)} for name, line in lines.items()}}

    def _version(self, row: Mapping[str, Any], at: float) -> dict[str, Any]:
        looks = self._looked((row["job"], row["version"]), look(row, at))
        recent = [each for each in looks if each.at >= at - LOOK_SECONDS]
        found = stretches(recent)
        latency = {
            "p50": quantile(found, 0.5), "p99": quantile(found, 0.99), "records": sum(s.records for s in found),
            "seconds": watched_seconds(recent),
        }  # fmt: skip
        with self._writing:
            self._trends[row["job"], row["version"]].add(at, row, latency)
        return {**plain({name: value for name, value in row.items() if name not in _INNER}), "latency": latency}

    def _looked(self, key: tuple[str, int], seen: Look) -> list[Look]:
        with self._writing:
            held = self._looks.setdefault(key, deque(maxlen=LOOKS))
            held.append(seen)
            kept = thinned(list(held), seen.at)
            held.clear()
            held.extend(kept)
            return kept


def explained(line: Mapping[str, Any], serves: bool, embedded: bool) -> dict[str, Any]:
    """A red line with "readers", its meaning for those; "runbook", the page and the heading of its entry; "next", what
    to type first."""
    cause = of_registry(line["line"], line["what"])
    return {
        **line,
        "readers": readers(cause, serves),
        "runbook": f'{red_lines.RUNBOOK}, "{MEANINGS[cause].runbook}"',
        "next": MEANINGS[cause].next_command(line["of"].partition(" ")[0], embedded),
    }


def _fill_up(columns: dict[str, list[int]], first: int, until: int) -> None:
    """Minutes without a commit, from where the columns end, or from `first`, up to this one."""
    for minute in range(columns["minute"][-1] + 60 if columns["minute"] else first, until, 60):
        for name, value in zip(_COLUMNS, (minute, 0, 0, 0), strict=True):
            columns[name].append(value)


_INNER = ("newest", "through")
_COLUMNS = ("minute", "read", "rows", "batches")


def look(row: Mapping[str, Any], at: float) -> Look:
    """A row of _VERSIONS as a look."""
    return Look(
        at=at, batch=row["batch_id"], committed=epoch(row["committed_at"]), newest=epoch(row["newest"]),
        through=epoch(row["through"]), records=row["read"], lag_events=row["lag_events"] or 0,
        lag_seconds=row["lag_seconds"] or 0.0,
    )  # fmt: skip


def thinned(looks: list[Look], at: float) -> list[Look]:
    """Looks that are older than what latencies need, one each TREND_SECONDS; all of the others."""
    kept: list[Look] = []
    for seen in looks:
        is_old = seen.at < at - LOOK_SECONDS
        if not (is_old and kept and seen.at - kept[-1].at < TREND_SECONDS):
            kept.append(seen)
    return kept


def by_version(rows: list[dict[str, Any]], looks: Mapping[tuple[str, int], list[Look]], until: int) -> dict[str, Any]:
    """The columns of each version's lines, by "JOB vN", up to the minute `until` (epoch s), which is not over: where
    nothing was committed, there is a nought, also at the end and in versions that committed nothing."""
    found: dict[tuple[str, int], Any] = {}
    for row in rows:
        columns = found.setdefault((row["job"], row["version"]), {name: [] for name in _COLUMNS})
        _fill_up(columns, row["minute"], row["minute"])
        for name in _COLUMNS:
            columns[name].append(row[name])
    seen = [key for key, held in looks.items() if held and held[-1].at >= until - HOURS * 3_600]
    for key in seen:
        found.setdefault(key, {name: [] for name in _COLUMNS})
    for key, columns in found.items():
        held = looks.get(key, [])
        first = max(int(held[0].at) // 60 * 60, until - HOURS * 3_600) if held else until
        _fill_up(columns, first, until)
        columns["lag"] = {
            "at": [each.at for each in held],
            "events": [each.lag_events for each in held],
            "seconds": [each.lag_seconds for each in held],
        }
    return {f"{job} v{version}": columns for (job, version), columns in found.items()}
