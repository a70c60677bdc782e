"""What a replay under way costs the live versions: how far apart their batches come, beside the hour before it began.

How long a batch took is kept of the newest one only, when each was committed of all: a batch that takes longer than the
cadence pushes the next one back.
"""

from __future__ import annotations

from typing import Any

import psycopg

# The clock is read once: with clock_timestamp() no index on committed_at could be used.
_COSTS = """
select r.replay_id::text, l.job, p.middle, p.most, p.now
from ops.replays r
cross join lateral jsonb_each_text(r.live) l (job, version)
cross join lateral (values
    (true, greatest(r.begun_at, statement_timestamp() - interval '1 hour'), statement_timestamp()),
    (false, r.begun_at - interval '1 hour', r.begun_at)) of (now, since, until)
cross join lateral (
    select of.now, percentile_cont(0.5) within group (order by gap)::double precision as middle,
        percentile_cont(0.99) within group (order by gap)::double precision as most
    from (select extract(epoch from committed_at - lag(committed_at) over (order by committed_at)) as gap
        from ops.batches b where (b.job, b.version) = (l.job, l.version::integer)
            and b.committed_at > of.since and b.committed_at <= of.until) g) p
where r.ended_at is null"""

Costs = dict[tuple[str, str], dict[str, float]]


def read(connection: psycopg.Connection[dict[str, Any]]) -> Costs:
    """By replay and job, in seconds between two batches of the live version: {"now_middle", "now_most",
    "before_middle", "before_most"}, where `most` is what 99 of 100 keep below, and now the last hour at most. Nothing
    of a version with too few batches to tell."""
    found: Costs = {}
    for row in connection.execute(_COSTS).fetchall():
        when, held = "now" if row["now"] else "before", found.setdefault((row["replay_id"], row["job"]), {})
        held |= {f"{when}_{what}": row[what] for what in ("middle", "most") if row[what] is not None}
    return {key: told for key, told in found.items() if len(told) == 4}
