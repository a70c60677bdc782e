"""What the jobs are doing, read from the registry: versions, lag, freshness, conservation, red lines."""

from __future__ import annotations

from typing import Any

from kappa.core.installation.settings import Settings
from kappa.status import red_lines, replays
from stack.status import outages

_VERSIONS = """
select v.job, v.version, v.state, v.desired, v.state_partitions, v.executor_cores, v.artifact,
    c.lag_events, c.lag_seconds, c.complete_through, d.driver_pid, d.batch_ms, d.watermark_delay_ms, d.state_rows,
    extract(epoch from clock_timestamp() - d.committed_at)::double precision as freshness_seconds,
    extract(epoch from clock_timestamp() - d.beat_at)::double precision as beat_seconds,
    a.read, a.read - a.counted - a.duplicate - a.repeated_click - a.late - a.future - a.before_start - a.dead_letter
        as residual,
    a.counted, a.duplicate, a.repeated_click, a.late, a.future, a.before_start, a.dead_letter
from ops.versions v
join ops.accounting a using (job, version)
left join ops.drivers d using (job, version)
left join ops.reach c using (job, version)
where v.state <> 'RETIRED'
order by v.job, v.version"""


def read(
    settings: Settings, seconds: float = outages.BOUND_SECONDS
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """([{"job", "versions": [...]}], the red lines as `red_lines` has them, the replays under way as `replays` has
    them), within so many seconds. Raises DoesNotAnswer, NoRegistry."""
    with outages.reading(settings, "kappa_operator", seconds) as connection:
        versions = connection.execute(_VERSIONS).fetchall()
        red = red_lines.read(connection, settings.topic.retention_hours)
        under_way = replays.read(connection)
    return by_job(versions), [*red, *red_lines.broken_accounts(versions)], under_way


def by_job(versions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows grouped by job, times as text."""
    jobs: dict[str, list[dict[str, Any]]] = {}
    for row in versions:
        shown = {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in row.items()}
        jobs.setdefault(shown.pop("job"), []).append(shown)
    return [{"job": job, "versions": known} for job, known in jobs.items()]
