-- Up to when the log certainly holds what a version has read nothing of yet: by its first record's append_time, which
-- whoever makes the version asks for. When the version was made says nothing of that: a candidate reads what is days old.

alter table registry.progress add column first_append_time timestamptz;
comment on column registry.progress.first_append_time is
    'No record that the version is to read of the partition was appended before this. Null: not known (a version that is older than the column, and starts with the log).';
update registry.progress p
set first_append_time = v.starts_at - (v.settings ->> 'future_bound_ms')::bigint * interval '1 millisecond'
from registry.job_version v where (v.job, v.version) = (p.job, p.version) and p.read_append_time is null;

create or replace view ops.progress as
select job, version, "partition", next_offset, end_offset, read_append_time, drained_at, kept_from,
    coalesce(greatest(read_append_time, drained_at), first_append_time) as unread_from
from registry.progress;
