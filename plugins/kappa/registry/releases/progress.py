"""What Postgres knows of versions and releases: how far a version is, what was released, since when one is previous
or failed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from kappa.core.log.kafka_log import Offsets
from kappa.core.replays import SETTLING_SECONDS, START_SECONDS, Release, Standing, Weighed
from kappa.core.versions import Segment
from kappa.registry.port import UnknownVersion
from kappa.registry.transactions import Database

_STANDING = """
select p.next_offsets, p.end_offsets, c.complete_through, h.newest_event_time, c.lag_events, c.lag_seconds,
    h.committed_at, v.start_offsets
from registry.job_version v join registry.completeness c using (job, version)
left join registry.heartbeat h using (job, version)
cross join lateral (select jsonb_object_agg("partition", next_offset) as next_offsets,
    jsonb_object_agg("partition", end_offset) filter (where end_offset is not null) as end_offsets
    from registry.progress r where (r.job, r.version) = (v.job, v.version)) p
where v.job = %s and v.version = %s"""
# By the middle one of the newest three replays: one beside much other work says little of the next. Their two ends are
# in the audit for ever; they tell the records of all their jobs together. As long as its batches are kept one by one, a
# candidate reads from its first commit to its last large one, and settles from there until a few looks agree that it is
# ready; of its first large one it loses half to a JVM that is not warm, where no others tell how much it was. One that
# read about as fast as its settings let it says nothing of either. Else by the newest version that was seen to work
# flat out, in batches of the last days or in those folded since. A candidate starts beside all that is live and has
# much to read, so its start is the longer one, and the first one of an installation starts cold, so of two the shorter
# one counts; a version that is deployed over an empty log has nothing to commit when it is ready. Before all that go
# full batches of candidates, while they are kept one by one: the first one, in a JVM that is not warm, tells what it
# lost, those after it how fast the candidate is from then on.
_WEIGHED = """
with work as (
    select b.version, b.generation, b.batch_id, b.read, w.settings,
        b.committed_at - lag(b.committed_at) over (partition by b.version, b.generation order by b.batch_id) as took
    from registry.batch b join registry.job_version w using (job, version) where b.job = %(job)s
), flat_out as (
    select version, 1 as batches, read, extract(epoch from took)::double precision as seconds,
        row_number() over (partition by version order by generation, batch_id) as nth
    from work where registry.worked_flat_out(read, took, settings)
    union all
    select version, flat_out_batches, flat_out_read, flat_out_seconds, null from registry.batch_hour
    where job = %(job)s and flat_out_batches > 0
), speed as (
    select sum(read)::double precision / sum(seconds) as per_s from flat_out
    group by version having sum(batches) >= 2 order by version desc limit 1
)
, marks as (
    select version, bool_or(action = 'reprocess.launched') as is_candidate,
        min(at) filter (where action = 'deploy.live') as live_at
    from registry.audit where job = %(job)s and action in ('reprocess.launched', 'deploy.live') group by version
), first_commit as (
    select w.version, extract(epoch from least(min(b.committed_at), m.live_at)
        - (select min(intended_at) from registry.launch l where (l.job, l.version) = (w.job, w.version)))
        ::double precision as seconds, coalesce(m.is_candidate, false) as is_candidate
    from registry.job_version w join registry.batch b using (job, version) left join marks m using (version)
    where w.job = %(job)s group by w.job, w.version, m.live_at, m.is_candidate
), start as (
    select percentile_disc(0.5) within group (order by seconds) filter (where is_candidate) as seconds,
        percentile_disc(0.5) within group (order by seconds) filter (where not is_candidate) as deployment_s from (
            select seconds, is_candidate, row_number() over (partition by is_candidate order by version desc) as nth
            from first_commit where seconds between 1 and 600) newest
    where nth <= 3
), warm as (
    select percentile_cont(0.5) within group (order by per_s) as per_s,
        percentile_cont(0.5) within group (order by greatest(first_s - first_read / per_s, 0)) as warming_s from (
            select sum(read) filter (where nth > 1) / sum(seconds) filter (where nth > 1) as per_s,
                min(read) filter (where nth = 1) as first_read, min(seconds) filter (where nth = 1) as first_s
            from flat_out join marks using (version) where is_candidate and nth is not null
            group by version having count(*) > 1 order by version desc limit 3) newest
), caught_up as (
    select c.version, c.at, w.settings, extract(epoch from c.at - (l.evidence ->> 'began')::timestamptz)
            ::double precision as seconds,
        (c.evidence ->> 'done')::double precision / (select count(*) from registry.audit o
            where (o.run_id, o.action) = (c.run_id, c.action)) as records
    from registry.audit c
    join registry.audit l on (l.run_id, l.job, l.version, l.action) = (c.run_id, c.job, c.version, 'reprocess.launched')
    join registry.job_version w on (w.job, w.version) = (c.job, c.version)
    where c.job = %(job)s and c.action = 'reprocess.caught_up' order by c.version desc limit 3
), course as (
    select version, sum(read) filter (where nth > 1 and committed_at <= last_large) as records,
        extract(epoch from last_large - min(committed_at))::double precision as seconds,
        extract(epoch from min(committed_at) filter (where nth = 2) - min(committed_at))::double precision / 2
            as lost_s,
        extract(epoch from at - last_large)::double precision as settling_s
    from (select *, max(committed_at) filter (where read >= most / 10.0) over (partition by version) as last_large
        from (select c.version, c.at, b.read, b.committed_at, max(b.read) over (partition by c.version) as most,
                row_number() over (partition by c.version order by b.committed_at) as nth
            from caught_up c join registry.batch b on (b.job, b.version) = (%(job)s, c.version)
                and b.committed_at <= c.at) large) batches
    group by version, at, last_large having count(*) > 1
), replayed as (
    select case when o.seconds > 0 then o.records else c.records end as records,
        case when o.seconds > 0 then o.seconds else nullif(greatest(c.seconds - %(settling)s - coalesce(
            (select seconds from first_commit f where f.version = c.version), (select seconds from start),
            %(assumed_start)s), 10), 10) end as seconds,
        case when o.seconds > 0 then o.lost_s else 0 end as lost_s, o.settling_s, c.settings
    from caught_up c left join course o using (version)
), pace as (
    select percentile_cont(0.5) within group (order by records / (seconds - lost_s)) as per_s,
        percentile_cont(0.5) within group (order by lost_s) as lost_s,
        percentile_cont(0.5) within group (order by settling_s) as settling_s from replayed
    where seconds > 0 and records >= 1000 and records / seconds
        < 0.8 * (settings ->> 'records_per_batch')::double precision
            / greatest((settings ->> 'cadence_ms')::double precision / 1000, 0.001)
)
select coalesce(pg_total_relation_size(to_regclass(format('data.%%I', o.table_name || '_v' || v.version))), 0)
    as rows_bytes, coalesce((select per_s from warm), (select per_s from pace), (select per_s from speed))
    ::double precision as replays_per_s, (select seconds from start) as start_s,
    coalesce((select warming_s from warm), (select lost_s from pace), 0)::double precision as warming_s,
    (select settling_s from pace) as settling_s, (select deployment_s from start) as deployment_s
from registry.job_version v join registry.output o using (job)
where v.job = %(job)s and v.version = %(version)s"""
_RELEASES = """
select * from registry.release where %(job)s::text is null or %(job)s = any(jobs) order by release_id"""
_PREVIOUS_SINCE = """
select max(r.promoted_at) as since
from registry.job_version v
cross join jsonb_build_array(jsonb_build_object('job', v.job, 'version', v.version, 'to_window', 'infinity')) as end_of
join registry.release r on r.segments_before @> end_of
where v.job = %s and v.version = %s and v.state = 'PREVIOUS'"""
_FAILED_SINCE = """
select greatest(v.updated_at, max(r.promoted_at)) as since
from registry.job_version v
cross join jsonb_build_array(jsonb_build_object('job', v.job, 'version', v.version, 'to_window', 'infinity')) as end_of
left join registry.release r on r.segments_before @> end_of
where v.job = %s and v.version = %s and v.state = 'FAILED' group by v.job, v.version"""


@dataclass(frozen=True)
class PostgresStanding:
    """The part of Releases that only looks."""

    database: Database

    def standing(self, job: str, version: int) -> Standing:
        """How far a version is, by what it committed. Raises UnknownVersion."""
        with self.database.transaction() as connection:
            row = connection.execute(_STANDING, [job, version]).fetchone()
            if row is None:
                raise UnknownVersion(job, version)
            return _standing(row)

    def weighed(self, job: str, version: int) -> Weighed:
        """What a version weighs and how fast its job was seen to read. Raises UnknownVersion."""
        with self.database.transaction() as connection:
            assumed = {"assumed_start": START_SECONDS, "settling": SETTLING_SECONDS}
            row = connection.execute(_WEIGHED, {"job": job, "version": version, **assumed}).fetchone()
            if row is None:
                raise UnknownVersion(job, version)
            return Weighed(**row)

    def releases(self, job: str | None = None) -> list[Release]:
        """The releases, of one job or of all, the oldest first."""
        with self.database.transaction() as connection:
            return [release(row) for row in connection.execute(_RELEASES, {"job": job})]

    def previous_since(self, job: str, version: int) -> datetime | None:
        """When a version that is PREVIOUS became so; None for any other."""
        with self.database.transaction() as connection:
            row = connection.execute(_PREVIOUS_SINCE, [job, version]).fetchone()
            return row["since"] if row else None

    def failed_since(self, job: str, version: int) -> datetime | None:
        """When a version that is FAILED became so, or was replaced as the one at the live end, whichever was later;
        None for any other."""
        with self.database.transaction() as connection:
            row = connection.execute(_FAILED_SINCE, [job, version]).fetchone()
            return row["since"] if row else None


def release(row: DictRow) -> Release:
    """A row of registry.release."""
    return Release(
        release_id=row["release_id"],
        jobs=tuple(row["jobs"]),
        before=tuple(Segment(**held) for held in row["segments_before"]),
        after=tuple(Segment(**held) for held in row["segments_after"]),
        offsets_before={job: offsets(held) for job, held in row["offsets_before"].items()},
        offsets_after={job: offsets(held) for job, held in row["offsets_after"].items()},
        promoted_at=row["promoted_at"],
        promoted_by=row["promoted_by"],
        approved_by=row["approved_by"],
        evidence=row["evidence"],
    )


def offsets(stored: dict[str, int] | None) -> Offsets:
    """Offsets as JSON keeps them, whose keys are text."""
    return {int(partition): offset for partition, offset in (stored or {}).items()}


def _standing(row: DictRow) -> Standing:
    begun, reached = offsets(row.pop("start_offsets")), offsets(row.pop("next_offsets"))
    ends = offsets(row.pop("end_offsets"))
    # A log without transactions has no gaps in its offsets: what was read is what they moved.
    read = sum(reached.values()) - sum(begun.values())
    return Standing(next_offsets=reached, end_offsets=ends, read=read, **row)
