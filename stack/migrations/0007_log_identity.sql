-- The last record that was read of each partition: the log is the one that was read while it is still there.
alter table registry.progress
    add column last_offset bigint,
    add column last_append_time timestamptz,
    add constraint last_read check ((last_offset is null) = (last_append_time is null));
comment on column registry.progress.last_offset is
    'The last record that was read, and its append time; null until a batch read one, and for what was read before they were kept.';
