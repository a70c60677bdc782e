"""One job in detail, read from the schema ops: what each version runs as, who holds it, what changes, how it does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from kappa.status.red_lines import red_line

BATCHES = 5

_VERSIONS = """
select v.version, v.state, v.desired, v.artifact, v.settings, v.state_partitions, v.executor_cores, v.generation,
    v.topic, v.starts_at, v.created_at, v.updated_at, c.lag_events, c.lag_seconds, c.complete_through,
    d.submission_id, d.epoch, d.driver_pid, d.jvm_pid, d.batch_id, d.batch_ms, d.watermark, d.watermark_delay_ms,
    d.state_rows, d.state_bytes,
    extract(epoch from clock_timestamp() - d.committed_at)::double precision as freshness_seconds,
    extract(epoch from clock_timestamp() - d.beat_at)::double precision as beat_seconds
from ops.versions v left join ops.drivers d using (job, version) left join ops.reach c using (job, version)
where v.job = %(job)s and v.state <> 'RETIRED' order by v.version"""

_GENERATIONS = """
select generation, made_from, change_id, state_partitions, base_batch_id, proof, made_at from ops.generations
where job = %(job)s and version = %(version)s order by generation"""

_LEASES = """
select version, run_id, verb, actor, reason, taken_at, ends_at from ops.leases
where job = %(job)s and version in (0, %(version)s) and ends_at > clock_timestamp() order by version desc"""

_CHANGES = """
select change_id, verb, run_id, desired, old, new, phase, marks, begun_at from ops.changes
where job = %(job)s and version = %(version)s and ended_at is null"""

_BATCHES = """
select generation, batch_id, read as records, rows_changed as rows, committed_at,
    (extract(epoch from committed_at - lag(committed_at) over (order by generation, batch_id)) * 1000)::bigint as gap_ms
from (
    select * from ops.batches where job = %(job)s and version = %(version)s
    order by generation desc, batch_id desc limit %(last)s + 1
) newest
order by generation desc, batch_id desc limit %(last)s"""

_RED = "select job, version, what, since, detail from ops.red_lines where job = %(job)s order by since"

_UNREAD = "select version, lag_events from ops.reach where job = %(job)s"

Reading = psycopg.Connection[dict[str, Any]]


def read(connection: Reading, job: str) -> dict[str, Any]:
    """{"job", "versions": [...], "red": [{"what", "since", "runbook", "line", "of"}]}, all as JSON knows it.

    A version has what `status --json` has of it where the names are the same, and: settings, generations (each with
    the proof that it was made with), leases, change (the open one, None without), batches (the newest last).
    A batch's `gap_ms` is the time since the commit before it, `batch_ms` of the version how long its newest one took.
    """
    versions = connection.execute(_VERSIONS, {"job": job}).fetchall()
    lines = connection.execute(_RED, {"job": job}).fetchall()
    return {
        "job": job,
        "versions": [{**shown(version), **_around(connection, job, version["version"])} for version in versions],
        "red": [red_line(line) for line in lines],
    }


def unread(connection: Reading, job: str) -> dict[int, int]:
    """The events that each version of a job has not read yet."""
    return {row["version"]: row["lag_events"] for row in connection.execute(_UNREAD, {"job": job}).fetchall()}


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON knows it: times as ISO 8601, ids as text."""
    return {name: _shown(value) for name, value in row.items()}


def _around(connection: Reading, job: str, version: int) -> dict[str, Any]:
    """What other views say of one version."""
    key = {"job": job, "version": version, "last": BATCHES}

    def rows(statement: str) -> list[dict[str, Any]]:
        return [shown(row) for row in connection.execute(statement, key).fetchall()]

    changes, batches = rows(_CHANGES), rows(_BATCHES)
    return {
        "generations": rows(_GENERATIONS),
        "leases": rows(_LEASES),
        "change": changes[0] if changes else None,
        "batches": batches[::-1],
    }


def _shown(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
