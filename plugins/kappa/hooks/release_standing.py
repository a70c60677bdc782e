"""What Postgres knows of versions and releases: how far a version is, what was released, since when one is previous."""

from __future__ import annotations

from datetime import datetime

from psycopg.rows import DictRow

from jobs.log import Offsets
from kappa.hooks.conflicts import UnknownVersion
from kappa.hooks.registry import Segment
from kappa.hooks.transactions import PostgresTransactions
from kappa.replays import Release, Standing

_OFFSETS = """
select coalesce(jsonb_object_agg("partition", {column}) filter (where {column} is not null), '{{}}')
from registry.progress p where (p.job, p.version) = (v.job, v.version)"""
_STANDING = f"""
select ({_OFFSETS.format(column="next_offset")}) as next_offsets, ({_OFFSETS.format(column="end_offset")}) as end_offsets,
    c.complete_through, h.newest_event_time, c.lag_events, c.lag_seconds, h.committed_at, v.start_offsets
from registry.job_version v join registry.completeness c using (job, version)
    left join registry.heartbeat h using (job, version)
where v.job = %s and v.version = %s"""
_RELEASES = """
select * from registry.release where %(job)s::text is null or %(job)s = any(jobs) order by release_id"""
_SERVED_THE_END = """exists (select from jsonb_array_elements({column}) s where (s ->> 'job', s ->> 'to_window')
    = (v.job, 'infinity') and (s ->> 'version')::integer = v.version)"""
_PREVIOUS_SINCE = f"""
select max(r.promoted_at) as since from registry.job_version v join registry.release r on v.job = any(r.jobs)
where v.job = %s and v.version = %s and v.state = 'PREVIOUS'
    and {_SERVED_THE_END.format(column="r.segments_before")}
    and not {_SERVED_THE_END.format(column="r.segments_after")}"""


class PostgresStanding(PostgresTransactions):
    """The part of Releases that only looks."""

    def standing(self, job: str, version: int) -> Standing:
        """How far a version is, by what it committed. Raises UnknownVersion."""
        with self.transaction() as connection:
            row = connection.execute(_STANDING, [job, version]).fetchone()
            if row is None:
                raise UnknownVersion(job, version)
            return _standing(row)

    def releases(self, job: str | None = None) -> list[Release]:
        """The releases, of one job or of all, the oldest first."""
        with self.transaction() as connection:
            return [release(row) for row in connection.execute(_RELEASES, {"job": job})]

    def previous_since(self, job: str, version: int) -> datetime | None:
        """When a version that is PREVIOUS became so; None for any other."""
        with self.transaction() as connection:
            row = connection.execute(_PREVIOUS_SINCE, [job, version]).fetchone()
            return row["since"] if row else None


def release(row: DictRow) -> Release:
    """A row of registry.release."""
    moved = {
        "jobs": tuple(row["jobs"]),
        "before": tuple(Segment(**held) for held in row["segments_before"]),
        "after": tuple(Segment(**held) for held in row["segments_after"]),
        "offsets_before": {job: offsets(held) for job, held in row["offsets_before"].items()},
        "offsets_after": {job: offsets(held) for job, held in row["offsets_after"].items()},
    }
    same = ("release_id", "promoted_at", "promoted_by", "approved_by", "evidence")
    return Release(**moved, **{name: row[name] for name in same})


def offsets(stored: dict[str, int] | None) -> Offsets:
    """Offsets as JSON keeps them, whose keys are text."""
    return {int(partition): offset for partition, offset in (stored or {}).items()}


def _standing(row: DictRow) -> Standing:
    begun, reached = offsets(row.pop("start_offsets")), offsets(row.pop("next_offsets"))
    ends = offsets(row.pop("end_offsets"))
    # A log without transactions has no gaps in its offsets: what was read is what they moved.
    read = sum(reached.values()) - sum(begun.values())
    return Standing(next_offsets=reached, end_offsets=ends, read=read, **row)
