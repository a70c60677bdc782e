"""What one look reads from the registry: versions with their numbers, red lines, replays, and how much is under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from kappa.core.fates import Fate
from kappa.status import red_lines, replays

Row = dict[str, Any]

# The clock is read once: with clock_timestamp() no index on committed_at could be used.
_VERSIONS = f"""
select v.job, v.version, v.state, v.desired,
    exists (select from ops.segments s where (s.job, s.version) = (v.job, v.version) and s.to_window = 'infinity')
        as serves,
    exists (select from ops.leases l where (l.job, l.version) = (v.job, v.version) and l.verb <> 'repair'
        and l.ends_at > statement_timestamp() and l.taken_at > statement_timestamp() - interval '5 minutes'
        and not (v.state = 'CATCHING_UP' and coalesce(d.committed_at > l.taken_at, false))) as is_changing,
    c.lag_events, c.lag_seconds, extract(epoch from statement_timestamp() - c.complete_through)::double precision
        as complete_seconds,
    d.epoch, d.batch_ms, d.watermark_delay_ms, d.state_rows, d.state_bytes,
    extract(epoch from statement_timestamp() - nullif(d.watermark, timestamptz 'epoch'))::double precision
        as watermark_seconds,
    extract(epoch from d.committed_at)::double precision as committed,
    extract(epoch from d.beat_at)::double precision as beat,
    p.skew_seconds, p.unread_seconds, m.read as recent_read, m.refused as recent_refused, m.future as recent_future,
    a.read, {", ".join(f"a.{fate}" for fate in Fate)},
    a.read - {" - ".join(f"a.{fate}" for fate in Fate)} as residual
from ops.versions v
join ops.accounting a using (job, version)
left join ops.drivers d using (job, version)
left join ops.reach c using (job, version)
cross join lateral (
    select extract(epoch from max(read_append_time) - min(read_append_time))::double precision as skew_seconds,
        case when bool_or(coalesce(end_offset > next_offset, true)) then greatest(0, extract(epoch from
            statement_timestamp() - min(unread_from) filter (where coalesce(end_offset > next_offset, true))))
        else 0 end::double precision as unread_seconds
    from ops.progress p where (p.job, p.version) = (v.job, v.version)) p
cross join lateral (
    select coalesce(sum(b.read), 0)::bigint as read, coalesce(sum(b.future), 0)::bigint as future,
        coalesce(sum(b.dead_letter + b.future + b.late), 0)::bigint as refused
    from ops.batches b where (b.job, b.version) = (v.job, v.version)
        and b.committed_at > statement_timestamp() - interval '5 minutes') m
where v.state <> 'RETIRED'
order by v.job, v.version"""  # noqa: S608 - the names of the fates are ours

_COUNTS = """
select (select count(*) from ops.leases where ends_at > statement_timestamp()) as leases,
    (select count(*) from ops.changes where ended_at is null) as changes,
    (select count(*) from ops.releases where segments_before <> '[]') as releases,
    (select extract(epoch from max(p.read_append_time) - clock_timestamp())::double precision
        from ops.progress p join ops.versions v using (job, version) where v.state <> 'RETIRED') as append_ahead,
    (select (evidence ->> 'hand_over_seconds')::double precision from ops.releases where segments_before <> '[]'
        order by release_id desc limit 1) as hand_over,
    extract(epoch from clock_timestamp())::double precision as clock"""


@dataclass(frozen=True)
class Registry:
    """`versions` are rows of _VERSIONS: a column for each fate, `residual` what has none, `beat` and `committed` epoch
    seconds of the database's clock, `recent_*` over five minutes; of one that `is_changing` a run, which is no repair,
    has taken hold in these, unless it is a candidate that has begun to read; by `unread_seconds` the oldest record that
    is unread, or may be, was appended no longer ago (None: nobody knows). `clock`: what the database's clock
    said; by `append_ahead_seconds` the newest append_time that was read was ahead of it, negative where it is older
    (None: nothing was read); `hand_over_seconds` is of the newest hand-over (None: there was none). `red` and
    `replays`: as `status` has them."""

    versions: list[Row] = field(default_factory=list)
    red: list[Row] = field(default_factory=list)
    replays: list[Row] = field(default_factory=list)
    counts: Mapping[str, int] = field(default_factory=dict)
    clock: float = 0.0
    append_ahead_seconds: float | None = None
    hand_over_seconds: float | None = None


def read(connection: psycopg.Connection[Row], retention_hours: int) -> Registry:
    """All of it, over one connection."""
    versions = connection.execute(_VERSIONS).fetchall()
    red = [*red_lines.read(connection, retention_hours), *red_lines.broken_accounts(versions)]
    under_way = replays.read(connection)
    (counts,) = connection.execute(_COUNTS).fetchall()
    told = [counts.pop(name) for name in ("clock", "append_ahead", "hand_over")]
    return Registry(versions, red, under_way, counts, *told)
