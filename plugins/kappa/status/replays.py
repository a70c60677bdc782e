"""The replays under way, read from the schema ops: each candidate with the records it has read, its rate and ETA."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import psycopg

from kappa.core.replays import NOTHING_MEASURED, Course, Forecast, time_left

# What is unread is at least what is left of the plan's count, until the driver knows better. The live version has
# caught up, so it reads what arrives, in the middle one of its last minutes: by so much less does a replay come nearer,
# and a burst in one of them does not go on.
# A candidate reads in batches of many seconds, so its rate is from the first one's end to the newest's. What is
# expected of it is what its launch wrote into the audit.
# The clock is read once: with clock_timestamp() no index on committed_at could be used.
_REPLAYS = """
select r.replay_id::text, r.run_id, r.asked_by, r.reason, r.starts_ms, r.parity, r.approval, r.promote, r.answer,
    r.answered_by, (r.validation ->> 'success')::boolean as validated, r.begun_at, v.job, v.version,
    (r.live ->> v.job)::integer as live, v.state, a.read,
    greatest(q.lag_events, (r.price ->> 'records')::numeric / n.jobs - a.read, 0)::bigint as unread,
    s.read as read_lately, s.reading_s,
    extract(epoch from statement_timestamp() - q.committed_at)::double precision as idle_s,
    extract(epoch from statement_timestamp() - coalesce((p.evidence ->> 'began')::timestamptz, r.begun_at))
        ::double precision as age_s, p.evidence -> 'forecasts' -> v.job as forecast,
    l.read_a_minute / 60 as arrivals_per_s
from ops.replays r
cross join lateral jsonb_each_text(r.versions) c
cross join lateral (select count(*) as jobs from jsonb_object_keys(r.versions)) n
join ops.versions v on (v.job, v.version) = (c.key, c.value::integer)
join ops.accounting a using (job, version)
left join ops.drivers q using (job, version)
left join lateral (select evidence from ops.audit where (run_id, job, version, action)
    = (r.run_id, v.job, v.version, 'reprocess.launched') order by at limit 1) p on true
cross join lateral (
    select coalesce(sum(b.read) - (array_agg(b.read order by b.committed_at))[1], 0)::bigint as read,
        coalesce(extract(epoch from max(b.committed_at) - min(b.committed_at)), 0)::double precision as reading_s
    from ops.batches b
    where (b.job, b.version) = (v.job, v.version) and b.committed_at > statement_timestamp() - interval '3 minutes') s
cross join lateral (
    select percentile_cont(0.5) within group (order by coalesce(one.read, 0)::double precision) as read_a_minute
    from generate_series(0, 4) ago left join (
        select floor(extract(epoch from statement_timestamp() - b.committed_at) / 60) as ago, sum(b.read) as read
        from ops.batches b where (b.job, b.version) = (v.job, (r.live ->> v.job)::integer)
            and b.committed_at > statement_timestamp() - interval '5 minutes' group by 1) one using (ago)) l
where r.ended_at is null order by r.begun_at, r.replay_id, v.job"""

_ANSWERS = """
select (validation ->> 'success')::boolean as validated, promote, answer, approval from ops.replays
where ended_at is null"""
_BEHIND = ("STAGED", "CATCHING_UP")
_OF_CANDIDATE = ("job", "version", "live", "state", "read", "unread")


def read(connection: psycopg.Connection[dict[str, Any]]) -> list[dict[str, Any]]:
    """The replays that have not ended, the oldest first: see `by_replay`."""
    return by_replay(connection.execute(_REPLAYS).fetchall())


def questions(connection: psycopg.Connection[dict[str, Any]]) -> int:
    """How many replays wait to be approved or rejected."""
    return sum(map(_waits, connection.execute(_ANSWERS).fetchall()))


def by_replay(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """[{"replay_id", "run_id", "asked_by", "reason", "from", "parity", "approval", "promote", "phase", "answer",
    "answered_by", "begun_at", "candidates": [{"job", "version", "live", "state", "read", "unread", "rate_per_second",
    "eta_seconds"}]}] of rows with one candidate each; times as text, `eta_seconds` None where it comes no nearer."""
    replays: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        replays.setdefault(row["replay_id"], []).append(row)
    return [_replay(candidates) for candidates in replays.values()]


def _replay(rows: list[dict[str, Any]]) -> dict[str, Any]:
    first = rows[0]
    same = ("replay_id", "run_id", "asked_by", "reason", "parity", "approval", "promote", "answer", "answered_by")
    starts = first["starts_ms"]
    return {
        **{name: first[name] for name in same},
        "from": None if starts is None else datetime.fromtimestamp(starts / 1000, UTC).isoformat(),
        "phase": _phase(rows),
        "begun_at": first["begun_at"].isoformat(),
        "candidates": [_candidate(row) for row in rows],
    }


def _phase(rows: list[dict[str, Any]]) -> str:
    """What it is at, told from what was written down last."""
    first = rows[0]
    if any(row["state"] in _BEHIND for row in rows):
        return "catching up"
    if first["validated"] is None:
        return "validating"
    if _waits(first):
        return "waiting for an answer"
    by_itself = first["validated"] and first["promote"] and first["answer"] is None
    return "promoting" if by_itself or first["answer"] == "approved" else "ending"


def _waits(replay: Mapping[str, Any]) -> bool:
    """Whether it is valid and somebody is asked whether to promote it."""
    asks = replay["promote"] and replay["approval"] != "auto"
    return bool(replay["validated"] and asks and replay["answer"] is None)


def _candidate(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in _OF_CANDIDATE},
        "rate_per_second": row["read_lately"] / row["reading_s"] if row["reading_s"] else 0.0,
        "eta_seconds": _eta(row),
    }


def _eta(row: Mapping[str, Any]) -> float | None:
    if row["state"] not in _BEHIND:
        return 0.0
    expected = Forecast.from_json(row["forecast"]) if row["forecast"] else NOTHING_MEASURED
    seen = (row["age_s"], row["unread"], row["arrivals_per_s"], row["read_lately"], row["reading_s"])
    return time_left(expected, Course(*seen, row["idle_s"] if row["read"] else None))
