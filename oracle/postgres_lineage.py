"""What stands behind a served number, read from Postgres as kappa_operator: row, segments, versions, batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from oracle.days import Calendar
from oracle.explain import Number, Part
from oracle.lineage import Batch, Behind, Moment
from oracle.postgres import DatabaseUnreadable, clients, moment, rules
from oracle.postgres_rows import Connection

_MINUTE = """
select impressions, clicks, spend_micros, duplicates, repeated_clicks, ctr::text as ctr, is_final
from serving.ad_ctr_minute
where client_id = %(client_id)s and ad_id = %(ad_id)s and window_start = to_timestamp(%(minute)s::bigint / 1000)
"""
_DAY = """
select impressions, clicks, spend_micros, time_zone, currency, budget_micros, finality from serving.client_spend_day
where client_id = %(client_id)s and budget_day = %(day)s
"""
_SEGMENTS = """
select version,
    case when isfinite(from_window) then (extract(epoch from from_window) * 1000)::bigint end as from_ms,
    case when isfinite(to_window) then (extract(epoch from to_window) * 1000)::bigint end as to_ms
from ops.segments where job = %s order by from_window
"""
_VERSION = """
select version, state, artifact, state_digest, result_digest, settings, topic, generation, start_offsets,
    starts_at, created_at, (extract(epoch from starts_at) * 1000)::bigint as starts_ms
from ops.versions where job = %s and version = %s
"""
_PROGRESS = 'select "partition", next_offset from ops.progress where job = %s and version = %s'
_RELEASE = """
with asked as (select to_timestamp(%(minute)s::bigint / 1000) as at)
select release_id, jobs, segments_before, segments_after, offsets_before, offsets_after, promoted_at, promoted_by,
    approved_by, evidence
from ops.releases r, asked
where exists (select from jsonb_array_elements(r.segments_after) s
        where s ->> 'job' = %(job)s and (s ->> 'version')::integer = %(version)s
        and (s ->> 'from_window')::timestamptz <= at and at < (s ->> 'to_window')::timestamptz)
    and not exists (select from jsonb_array_elements(r.segments_before) s
        where s ->> 'job' = %(job)s and (s ->> 'version')::integer = %(version)s
        and (s ->> 'from_window')::timestamptz <= at and at < (s ->> 'to_window')::timestamptz)
order by release_id desc limit 1
"""
_BATCHES = """
with kept as (
    select job, version, generation, batch_id, epoch, committed_at, start_offsets, end_offsets,
        null::bigint as last_batch_id from ops.batches
    union all
    select job, version, generation, first_batch_id, last_epoch, committed_to, start_offsets, end_offsets,
        last_batch_id from ops.batch_hours
)
select generation, batch_id, epoch, committed_at, start_offsets, end_offsets, last_batch_id from kept b
where job = %(job)s and version = %(version)s and exists (
    select from unnest(%(partitions)s::text[], %(firsts)s::bigint[], %(lasts)s::bigint[]) as near (number, first, last)
    where (b.start_offsets ->> number)::bigint <= last and (b.end_offsets ->> number)::bigint > first
        and (b.start_offsets ->> number)::bigint < (b.end_offsets ->> number)::bigint)
order by generation, batch_id
"""


class PostgresLineage:
    """What stands behind served numbers; `dsn` is kappa_operator's."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def moment(self, number: Number) -> Moment:
        """What is served of a number, and by whom, in one REPEATABLE READ transaction. Raises DatabaseUnreadable."""
        with moment(self._dsn) as connection:
            minutes = number.minutes(Calendar(clients(connection)))
            segments = connection.execute(_SEGMENTS, [number.job]).fetchall()
            shares = split(minutes, segments)
            parts = tuple(_behind(connection, number.job, version, share) for version, share in shares)
            return Moment(_served(connection, number), parts)

    def batches(self, job: str, version: int, within: Mapping[int, tuple[int, int]]) -> Sequence[Batch]:
        """The version's batches that read anything of these offsets (partition -> (first, last)), in order.

        Raises DatabaseUnreadable.
        """
        asked = {
            "job": job,
            "version": version,
            "partitions": [str(partition) for partition in within],
            "firsts": [first for first, _ in within.values()],
            "lasts": [last for _, last in within.values()],
        }
        with moment(self._dsn) as connection:
            return [_batch(row) for row in connection.execute(_BATCHES, asked)]


def split(minutes: Iterable[int], segments: Iterable[Mapping[str, Any]]) -> list[tuple[int, frozenset[int]]]:
    """(version, its share of the minutes) for each segment that has one; what no segment has is left out.

    A segment: version, from_ms and to_ms (excluded), None where it has no such end.
    """
    found = []
    for segment in segments:
        low, high = segment["from_ms"], segment["to_ms"]
        mine = frozenset(m for m in minutes if (low is None or low <= m) and (high is None or m < high))
        found += [(segment["version"], mine)] if mine else []
    return found


def _served(connection: Connection, number: Number) -> dict[str, Any] | None:
    """The served row; counts and money as int, ctr as the Decimal that the view shows."""
    row = connection.execute(_MINUTE if number.day is None else _DAY, vars(number)).fetchone()
    if row is None:
        return None
    money = {name: int(row[name]) for name in ("spend_micros", "budget_micros") if row.get(name) is not None}
    ctr = {"ctr": Decimal(row["ctr"])} if row.get("ctr") is not None else {}
    return {**row, **money, **ctr}


def _behind(connection: Connection, job: str, version: int, minutes: frozenset[int]) -> Behind:
    held = connection.execute(_VERSION, [job, version]).fetchone()
    if held is None:
        raise DatabaseUnreadable(f"a segment names {job} version {version}, which ops.versions does not have")
    progress = connection.execute(_PROGRESS, [job, version]).fetchall()
    start = {int(partition): int(offset) for partition, offset in held["start_offsets"].items()}
    end = {row["partition"]: row["next_offset"] for row in progress}
    part = Part(version, rules(held["settings"], held.pop("starts_ms")), start, end, minutes)
    return Behind(part, held, _release(connection, job, version, max(minutes)))


def _release(connection: Connection, job: str, version: int, minute: int) -> dict[str, Any] | None:
    """The newest release that made the version serve this minute and not only go on with it."""
    return connection.execute(_RELEASE, {"job": job, "version": version, "minute": minute}).fetchone()


def _batch(row: Mapping[str, Any]) -> Batch:
    starts, ends = row["start_offsets"], row["end_offsets"]
    offsets = {int(partition): (int(starts.get(partition, end)), int(end)) for partition, end in ends.items()}
    return Batch(row["generation"], row["batch_id"], row["epoch"], row["committed_at"], offsets, row["last_batch_id"])
