-- Bookkeeping that stays small for years (docs/decisions/0032): totals kept with each batch, old batches folded into hours,
-- old refused records forgotten, indexes where reads need them.

create table registry.batch_total (
    job text not null,
    version integer not null,
    generation integer not null,
    batches bigint not null,
    read bigint not null,
    counted bigint not null,
    duplicate bigint not null,
    repeated_click bigint not null,
    late bigint not null,
    future bigint not null,
    before_start bigint not null,
    dead_letter bigint not null,
    counted_micros numeric(38, 0) not null,
    duplicate_micros numeric(38, 0) not null,
    repeated_click_micros numeric(38, 0) not null,
    late_micros numeric(38, 0) not null,
    future_micros numeric(38, 0) not null,
    before_start_micros numeric(38, 0) not null,
    primary key (job, version, generation),
    foreign key (job, version) references registry.job_version,
    constraint conservation check
        (read = counted + duplicate + repeated_click + late + future + before_start + dead_letter)
) with (fillfactor = 50);
comment on table registry.batch_total is
    'What all batches of a generation come to, folded or not; kept by a trigger in the transaction of each batch.';

create table registry.batch_hour (
    job text not null,
    version integer not null,
    generation integer not null,
    first_batch_id bigint not null,
    last_batch_id bigint not null,
    batches bigint not null,
    first_epoch bigint not null,
    last_epoch bigint not null,
    topic_id text not null,
    start_offsets jsonb not null,
    end_offsets jsonb not null,
    watermark timestamptz,
    read bigint not null,
    counted bigint not null,
    duplicate bigint not null,
    repeated_click bigint not null,
    late bigint not null,
    future bigint not null,
    before_start bigint not null,
    dead_letter bigint not null,
    counted_micros numeric(38, 0) not null,
    duplicate_micros numeric(38, 0) not null,
    repeated_click_micros numeric(38, 0) not null,
    late_micros numeric(38, 0) not null,
    future_micros numeric(38, 0) not null,
    before_start_micros numeric(38, 0) not null,
    rows_changed bigint not null,
    flat_out_batches bigint not null,
    flat_out_read bigint not null,
    flat_out_seconds double precision not null,
    committed_from timestamptz not null,
    committed_to timestamptz not null,
    primary key (job, version, generation, last_batch_id),
    foreign key (job, version) references registry.job_version,
    check (first_batch_id <= last_batch_id),
    constraint conservation check
        (read = counted + duplicate + repeated_click + late + future + before_start + dead_letter)
);
comment on table registry.batch_hour is
    'Old batches, those of an hour (of a busy one a part) in one row: their joined offsets, counts and micros by fate, and '
    'what those of them that worked flat out read in how long.';

create view registry.booked as
select job, version, generation, 1::bigint as batches, read, counted, duplicate, repeated_click, late, future, before_start,
    dead_letter, counted_micros, duplicate_micros, repeated_click_micros, late_micros, future_micros, before_start_micros
from registry.batch
union all
select job, version, generation, batches, read, counted, duplicate, repeated_click, late, future, before_start,
    dead_letter, counted_micros, duplicate_micros, repeated_click_micros, late_micros, future_micros, before_start_micros
from registry.batch_hour;
comment on view registry.booked is 'The batches as they were booked, folded or not: their sums are registry.batch_total.';

-- As the owner: a driver adds to the totals by its batches and in no other way.
create function registry.add_to_totals() returns trigger
language plpgsql security definer set search_path = pg_catalog as $$
begin
    insert into registry.batch_total as t
    select job, version, generation, count(*), sum(read), sum(counted), sum(duplicate), sum(repeated_click), sum(late),
        sum(future), sum(before_start), sum(dead_letter), sum(counted_micros), sum(duplicate_micros),
        sum(repeated_click_micros), sum(late_micros), sum(future_micros), sum(before_start_micros)
    from added group by job, version, generation
    on conflict (job, version, generation) do update set
        batches = t.batches + excluded.batches, read = t.read + excluded.read, counted = t.counted + excluded.counted,
        duplicate = t.duplicate + excluded.duplicate, repeated_click = t.repeated_click + excluded.repeated_click,
        late = t.late + excluded.late, future = t.future + excluded.future,
        before_start = t.before_start + excluded.before_start, dead_letter = t.dead_letter + excluded.dead_letter,
        counted_micros = t.counted_micros + excluded.counted_micros,
        duplicate_micros = t.duplicate_micros + excluded.duplicate_micros,
        repeated_click_micros = t.repeated_click_micros + excluded.repeated_click_micros,
        late_micros = t.late_micros + excluded.late_micros, future_micros = t.future_micros + excluded.future_micros,
        before_start_micros = t.before_start_micros + excluded.before_start_micros;
    return null;
end $$;

-- Drivers may be running: no batch comes between the sums of what there is and the trigger.
lock table registry.batch in share row exclusive mode;
insert into registry.batch_total
select job, version, generation, sum(batches), sum(read), sum(counted), sum(duplicate), sum(repeated_click), sum(late),
    sum(future), sum(before_start), sum(dead_letter), sum(counted_micros), sum(duplicate_micros),
    sum(repeated_click_micros), sum(late_micros), sum(future_micros), sum(before_start_micros)
from registry.booked group by job, version, generation;
create trigger totals after insert on registry.batch
    referencing new table as added for each statement execute function registry.add_to_totals();

create or replace view ops.accounting as
select v.job, v.version, v.state,
    coalesce(sum(t.read), 0)::bigint as read,
    coalesce(sum(t.counted), 0)::bigint as counted,
    coalesce(sum(t.duplicate), 0)::bigint as duplicate,
    coalesce(sum(t.repeated_click), 0)::bigint as repeated_click,
    coalesce(sum(t.late), 0)::bigint as late,
    coalesce(sum(t.future), 0)::bigint as future,
    coalesce(sum(t.before_start), 0)::bigint as before_start,
    coalesce(sum(t.dead_letter), 0)::bigint as dead_letter,
    coalesce(sum(t.counted_micros), 0)::numeric(38, 0) as counted_micros,
    coalesce(sum(t.duplicate_micros), 0)::numeric(38, 0) as duplicate_micros,
    coalesce(sum(t.repeated_click_micros), 0)::numeric(38, 0) as repeated_click_micros,
    coalesce(sum(t.late_micros), 0)::numeric(38, 0) as late_micros,
    coalesce(sum(t.future_micros), 0)::numeric(38, 0) as future_micros,
    coalesce(sum(t.before_start_micros), 0)::numeric(38, 0) as before_start_micros
from registry.job_version v left join registry.batch_total t using (job, version)
group by v.job, v.version, v.state;

create view ops.batch_hours as select * from registry.batch_hour;

-- Only batches that found as much as they may read, and took longer than their rate gives them (a version that is far
-- behind has larger batches at the same rate): nothing but the work slowed them.
create function registry.worked_flat_out(read bigint, took interval, settings jsonb) returns boolean
language sql immutable as $$
    select took * (settings ->> 'records_per_batch')::double precision
            > make_interval(secs => (settings ->> 'cadence_ms')::double precision / 1000) * read * 1.1
        and took < interval '5 minutes' and read >= 0.9 * (settings ->> 'records_per_batch')::bigint
$$;

alter table registry.progress add column kept_from bigint;
comment on column registry.progress.kept_from is
    'Of a job whose rows are records (quarantine): those before this offset are no longer kept. Null: all are.';
create or replace view ops.progress as
select job, version, "partition", next_offset, end_offset, read_append_time, drained_at, kept_from from registry.progress;

create index batch_committed on registry.batch (job, version, committed_at);
create index audit_at on registry.audit (at);
create index ad_ctr_minute_window on data.ad_ctr_minute (window_start);
create index client_spend_minute_window on data.client_spend_minute (window_start);

grant select on registry.batch_total, registry.batch_hour, registry.booked to kappa_registry;
grant insert on registry.batch_hour to kappa_registry;
grant delete on registry.batch, data.quarantine to kappa_registry;
grant select on ops.batch_hours to kappa_operator, kappa_registry;
