"""The red lines that the registry knows, in the shape of the contract: what is wrong now, since when, what to read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import psycopg

RUNBOOK = "docs/runbook.md"
Reading = psycopg.Connection[dict[str, Any]]

# Up to when a partition was read, all that was appended is read: what is unread is dropped a retention later, at the
# earliest. Where nothing was read yet, the first record's append_time stands for that. Of a version that is stopped the
# others know what came since; where no driver looks, nobody does.
_RETENTION = """
with looked as (
    select v.topic, p."partition", max(greatest(p.end_offset, p.next_offset)) as end_offset,
        bool_or(coalesce(d.beat_at > clock_timestamp() - interval '1 minute', false)) as looks
    from ops.progress p join ops.versions v using (job, version) left join ops.drivers d using (job, version)
    group by 1, 2
)
select v.job, v.version, v.desired,
    min(p.unread_from) + make_interval(hours => %(hours)s) as dropped_at,
    min(p.unread_from) + make_interval(hours => %(hours)s) * 0.75 as since,
    extract(epoch from min(p.unread_from) + make_interval(hours => %(hours)s)
        - clock_timestamp())::double precision / 3600 as hours_left
from ops.segments s join ops.versions v using (job, version) join ops.progress p using (job, version)
join looked l on l.topic = v.topic and l."partition" = p."partition"
where s.to_window = 'infinity' and (l.end_offset > p.next_offset or v.desired = 'stopped' and not l.looks)
group by v.job, v.version, v.desired
having min(p.unread_from) + make_interval(hours => %(hours)s) * 0.75 < clock_timestamp()
order by v.job, v.version"""

_LINES = "select job, version, what, since, detail from ops.red_lines order by since"


def read(connection: Reading, retention_hours: int) -> list[dict[str, Any]]:
    """[{"what", "since", "runbook", "line", "of"}] of a log that is kept so long, the oldest first; those about
    retention last. `line` is what the contract, section 8, calls it, `of` the version that it is about."""
    lines = connection.execute(_LINES).fetchall()
    late = connection.execute(_RETENTION, {"hours": retention_hours}).fetchall()
    return [*map(red_line, lines), *map(near_retention, late)]


def red_line(line: dict[str, Any]) -> dict[str, Any]:
    """A red line of the registry in the shape of the contract."""
    name = f"{line['job']} v{line['version']}"
    what = f"{name} {line['what']}: {line['detail']}"
    return _line(what, line["since"].isoformat(), line["what"], name)


def broken_accounts(versions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A red line for each version whose fates do not add up to what it read."""
    return [
        _line(f"{name} conservation: {v['residual']} records without a fate", None, "conservation", name)
        for v in versions
        if v["residual"] and (name := f"{v['job']} v{v['version']}")
    ]


def near_retention(late: Mapping[str, Any]) -> dict[str, Any]:
    """A red line for a version that serves and has less than a quarter of the log's retention left to read on."""
    name, left = f"{late['job']} v{late['version']}", late["hours_left"]
    when = f"in {math.ceil(left)} h the log drops" if left > 0 else "the log may have dropped"
    remedy = f"./kappa start {late['job']}, or lengthen" if late["desired"] == "stopped" else "lengthen"
    what = f"{name} retention: {when} what it has not read; {remedy} topic.retention_hours in kappa.toml (./kappa up)"
    return _line(what, late["since"].isoformat(), "retention", name)


def _line(what: str, since: str | None, line: str, of: str) -> dict[str, Any]:
    return {"what": what, "since": since, "runbook": RUNBOOK, "line": line, "of": of}
