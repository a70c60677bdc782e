-- For how long what is unread waits in a partition of which a version has read nothing yet, nor seen it empty: since the
-- version was made. Before, it did not count, so a version whose first batch never committed had no lag and was no trouble.
create or replace view registry.reach as
select v.job, v.version,
    min(greatest(p.read_append_time, p.drained_at)) filter (where p."partition" is not null) as read_through,
    bool_and(coalesce(p.read_append_time, p.drained_at) is not null) as known,
    coalesce(sum(greatest(p.end_offset - p.next_offset, 0)), 0)::bigint as lag_events,
    min(coalesce(greatest(p.read_append_time, p.drained_at), v.created_at)) filter (where p.end_offset > p.next_offset)
        as oldest_unread_after,
    (v.settings ->> 'allowed_lateness_ms')::bigint as allowed_lateness_ms
from registry.job_version v left join registry.progress p using (job, version)
group by v.job, v.version;
