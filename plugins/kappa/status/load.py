"""What the versions that serve the live end had to do lately, read from the schema ops: see `kappa.core.advice`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

from kappa.core.advice.load import LOOK_SECONDS, QUIET_HOURS, Load
from kappa.core.job_catalog import JOBS, resolve
from kappa.status.causes import Cause

FAILING = (Cause.QUERY, Cause.COMMIT, Cause.TOPIC, Cause.FAILED)
"""Red lines of batches that are not committed, whatever the size of the version."""

# The clock is read once: with clock_timestamp() no index on committed_at could be used.
_LOADS = """
select v.job, v.version, v.state, v.desired, v.settings,
    extract(epoch from statement_timestamp() - v.updated_at)::double precision as unchanged_seconds,
    extract(epoch from statement_timestamp() - d.beat_at)::double precision as beat_seconds,
    d.batch_ms, d.state_rows, d.state_bytes, g.gap_ms,
    coalesce(c.lag_events, 0) as lag_events, coalesce(c.lag_seconds, 0)::double precision as lag_seconds,
    coalesce(g.read, 0)::double precision / %(look)s as reads_per_second,
    coalesce(p.read, 0)::double precision / 60 as peak_per_second,
    coalesce((select string_agg(r.what, ', ' order by r.what) from ops.red_lines r
        where (r.job, r.version) = (v.job, v.version) and r.what = any(%(failing)s)), '') as failing
from ops.segments s
join ops.versions v using (job, version)
left join ops.drivers d using (job, version)
left join ops.reach c using (job, version)
cross join lateral (
    select sum(read) as read, percentile_cont(0.1) within group (order by gap) * 1000 as gap_ms
    from (
        select b.read, extract(epoch from b.committed_at - lag(b.committed_at) over (order by b.committed_at)) as gap
        from ops.batches b where (b.job, b.version) = (v.job, v.version)
            and b.committed_at > statement_timestamp() - %(look)s * interval '1 second') batch) g
cross join lateral (
    select max(read) as read
    from (
        select sum(b.read) as read
        from ops.batches b where (b.job, b.version) = (v.job, v.version)
            and b.committed_at > statement_timestamp() - %(hours)s * interval '1 hour'
        group by date_trunc('minute', b.committed_at)) minute) p
where s.to_window = 'infinity' and v.job = any(%(jobs)s)
order by v.job"""

VALUES = {"look": LOOK_SECONDS, "hours": QUIET_HOURS, "jobs": list(JOBS), "failing": list(FAILING)}


def read(connection: psycopg.Connection[dict[str, Any]]) -> list[Load]:
    """The loads of the jobs of the catalogue that something serves, in the order of their names."""
    return [_load(row) for row in connection.execute(_LOADS, VALUES).fetchall()]


def _load(row: Mapping[str, Any]) -> Load:
    """A row as facts; a setting that an older version does not have is as by default."""
    known = {setting.name for setting in JOBS[row["job"]].settings}
    given = {name: value for name, value in row["settings"].items() if name in known}
    return Load(**{**row, "settings": resolve(JOBS[row["job"]], given)})
