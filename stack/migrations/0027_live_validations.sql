-- What serves is held against the suites each hour; a version that does not pass is red until a later validation passes,
-- or it serves no more. That is told from here, and not from registry.red_line, which a start of the driver clears.

create table registry.live_validation (
    job text not null,
    version integer not null,
    success boolean not null,
    sentence text not null,
    folder text,
    run_id text not null,
    first_window timestamptz not null,
    validated_at timestamptz not null default clock_timestamp(),
    failed_since timestamptz,
    primary key (job, version),
    foreign key (job, version) references registry.job_version,
    check (success = (failed_since is null))
);
comment on table registry.live_validation is 'The newest validation of each version while it served the live end.';
comment on column registry.live_validation.first_window is
    'The first window that was looked at. While it fails, later validations begin no later than there.';
grant select, insert, update on registry.live_validation to kappa_registry;

create or replace view ops.red_lines as
with current as (
    select job, max(version) as version from registry.job_version group by job
    union select job, version from registry.segment
)
select job, version, what, since, detail from registry.red_line join current using (job, version)
union all
select v.job, v.version, 'failed', v.updated_at, 'the driver was restarted too often and gave up'
from registry.job_version v join current using (job, version)
where v.state = 'FAILED' and not exists (select from registry.red_line r where (r.job, r.version, r.what) = (v.job, v.version, 'failed'))
union all
select v.job, v.version, 'silent', coalesce(h.beat_at, v.updated_at), 'wanted running, but no heartbeat for 30 s'
from registry.job_version v left join registry.heartbeat h using (job, version)
where v.desired = 'running' and v.state not in ('FAILED', 'RETIRED')
    and coalesce(greatest(h.beat_at, v.updated_at), v.updated_at) < clock_timestamp() - interval '30 seconds'
union all
select c.job, c.version, 'held', coalesce(h.beat_at, c.begun_at),
    format('wanted running, but held by a %s, run %s, and no heartbeat for 2 min', c.verb, c.run_id)
from registry.change c join registry.job_version v using (job, version) left join registry.heartbeat h using (job, version)
where c.ended_at is null and c.desired = 'running' and v.desired = 'stopped' and v.state not in ('FAILED', 'RETIRED')
    and coalesce(h.beat_at, c.begun_at) < clock_timestamp() - interval '2 minutes'
union all
select v.job, v.version, 'stalled', w.worked_at, 'wanted running, records wait, and nothing was committed for 2 min'
from registry.job_version v join registry.completeness c using (job, version)
join registry.heartbeat h using (job, version)
cross join lateral (
    select greatest(h.committed_at, v.updated_at, max(l.intended_at)) as worked_at
    from registry.launch l where (l.job, l.version) = (v.job, v.version) and l.ended_at is null
) w
where v.desired = 'running' and v.state not in ('FAILED', 'RETIRED') and c.lag_events > 0 and c.lag_seconds > 120
    and h.beat_at >= clock_timestamp() - interval '30 seconds'
    and w.worked_at < clock_timestamp() - interval '2 minutes'
union all
select v.job, v.version, share.what, share.since, format(share.detail, share.refused, b.read)
from registry.job_version v join current c using (job, version)
-- statement_timestamp(), for with clock_timestamp(), which is volatile, no index on committed_at could be used.
cross join lateral (
    select sum(read) as read, sum(future) as future,
        min(committed_at) filter (where future * 10 > read) as future_since,
        sum(late) as late, min(committed_at) filter (where late * 10 > read) as late_since,
        sum(dead_letter) as dead_letter,
        min(committed_at) filter (where dead_letter * 10 > read) as dead_letter_since
    from registry.batch
    where (job, version) = (v.job, v.version) and committed_at > statement_timestamp() - interval '5 minutes'
) b
cross join lateral (values
    ('future', b.future, b.future_since,
        '%s of the %s records of the last 5 min are refused as too far ahead of the broker''s clock'),
    ('late', b.late, b.late_since, '%s of the %s records of the last 5 min came later than the allowed lateness'),
    ('dead_letter', b.dead_letter, b.dead_letter_since, '%s of the %s records of the last 5 min cannot be read')
) share (what, refused, since, detail)
where v.state not in ('FAILED', 'RETIRED') and b.read >= 100 and share.refused * 10 > b.read
union all
select l.job, l.version, 'validation', l.failed_since, l.sentence
from registry.live_validation l join registry.segment s using (job, version)
where not l.success and s.to_window = 'infinity';
