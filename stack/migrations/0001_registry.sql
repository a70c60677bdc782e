-- The registry: which versions exist, who may write, what each batch did, how far each has read (architecture,
-- sections 3 to 5).
create schema registry;
create schema data;
create schema reference;
create schema serving;
create schema ops;

create table registry.output (
    job text primary key,
    table_name text not null
);
comment on table registry.output is 'The table in schema data that holds the rows of all versions of a job.';

create table registry.job_version (
    job text not null references registry.output,
    version integer not null check (version > 0),
    state text not null default 'STAGED'
        check (state in ('STAGED', 'CATCHING_UP', 'CAUGHT_UP', 'LIVE', 'PREVIOUS', 'RETIRED', 'FAILED')),
    desired text not null default 'running' check (desired in ('running', 'stopped')),
    artifact text not null,
    state_digest text not null,
    result_digest text not null,
    settings jsonb not null,
    topic text not null,
    topic_id text not null,
    starts_at timestamptz,
    start_offsets jsonb not null,
    generation integer not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    primary key (job, version)
);

create table registry.fence (
    job text not null,
    version integer not null,
    epoch bigint not null default 0,
    primary key (job, version),
    foreign key (job, version) references registry.job_version
);
comment on table registry.fence is 'The epoch of the driver that may write; a row of its own, so that a heartbeat never waits for it.';

create table registry.launch (
    launch_id uuid primary key,
    job text not null,
    version integer not null,
    intended_at timestamptz not null default clock_timestamp(),
    submission_id text,
    claimed_by text,
    claimed_at timestamptz,
    ended_at timestamptz,
    foreign key (job, version) references registry.job_version
);
create unique index launch_open on registry.launch (job, version) where ended_at is null;
comment on table registry.launch is
    'One intended start of a driver. Written before the submission, claimed by the first driver that carries its id: '
    'a submission that was repeated starts nothing.';

create table registry.driver_start (
    job text not null,
    version integer not null,
    epoch bigint not null,
    started_at timestamptz not null default clock_timestamp(),
    submission_id text not null,
    driver_pid integer not null,
    primary key (job, version, epoch),
    foreign key (job, version) references registry.job_version
);

create table registry.heartbeat (
    job text not null,
    version integer not null,
    epoch bigint not null,
    beat_at timestamptz not null,
    driver_pid integer not null,
    jvm_pid integer,
    submission_id text not null,
    generation integer not null,
    batch_id bigint,
    batch_ms integer,
    committed_at timestamptz,
    newest_event_time timestamptz,
    watermark timestamptz,
    watermark_delay_ms bigint,
    state_rows bigint,
    state_bytes bigint,
    primary key (job, version),
    foreign key (job, version) references registry.job_version
);

create table registry.batch (
    job text not null,
    version integer not null,
    generation integer not null,
    batch_id bigint not null,
    epoch bigint not null,
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
    committed_at timestamptz not null default clock_timestamp(),
    primary key (job, version, generation, batch_id),
    foreign key (job, version) references registry.job_version,
    constraint conservation check
        (read = counted + duplicate + repeated_click + late + future + before_start + dead_letter)
);

create table registry.progress (
    job text not null,
    version integer not null,
    "partition" integer not null,
    next_offset bigint not null,
    read_append_time timestamptz,
    end_offset bigint,
    drained_at timestamptz,
    primary key (job, version, "partition"),
    foreign key (job, version) references registry.job_version
) with (fillfactor = 50);
comment on table registry.progress is
    'How far each partition has been read: next_offset is committed; drained_at is the latest database time at which nothing was left.';

create table registry.segment (
    job text not null,
    from_window timestamptz not null,
    to_window timestamptz not null,
    version integer not null,
    primary key (job, from_window),
    unique (job, to_window),
    check (from_window < to_window),
    foreign key (job, version) references registry.job_version
);

create table registry.release (
    release_id bigint generated always as identity primary key,
    jobs text[] not null,
    segments_before jsonb not null,
    segments_after jsonb not null,
    offsets_before jsonb not null,
    offsets_after jsonb not null,
    promoted_at timestamptz not null default clock_timestamp(),
    promoted_by text not null,
    approved_by text,
    evidence jsonb not null default '{}'
);

create table registry.audit (
    audit_id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    actor text not null,
    action text not null,
    job text,
    version integer,
    run_id text,
    reason text,
    evidence jsonb not null default '{}'
);
create index audit_run on registry.audit (run_id);

create table registry.red_line (
    job text not null,
    version integer not null,
    what text not null,
    since timestamptz not null default clock_timestamp(),
    detail text not null,
    primary key (job, version, what),
    foreign key (job, version) references registry.job_version
);

create function registry.add_rows_partition(of_job text, of_version integer) returns void
language plpgsql security definer set search_path = pg_catalog set lock_timeout = '5s' as $$
declare
    parent text := (select table_name from registry.output where job = of_job);
    child text := format('%s_v%s', parent, of_version);
begin
    if parent is null then
        raise exception 'job % has no table in registry.output', of_job;
    end if;
    if to_regclass(format('data.%I', child)) is not null then
        return;
    end if;
    execute format('create table data.%I (like data.%I including all) with (fillfactor = 80)', child, parent);
    execute format('alter table data.%I attach partition data.%I for values in (%s)', parent, child, of_version);
end $$;
revoke all on function registry.add_rows_partition from public;

create function registry.end_older_drivers(of_job text, of_version integer, since_epoch bigint) returns integer
language sql set search_path = pg_catalog as $$
    select count(*) filter (where pg_terminate_backend(pid))::integer from pg_stat_activity
    where usename = session_user and pid <> pg_backend_pid()
      and application_name ~ format('^kappa:%s:v%s:e[0-9]+$', of_job, of_version)
      and substring(application_name from '[0-9]+$')::bigint < since_epoch
$$;

create view registry.reach as
select v.job, v.version,
    min(greatest(p.read_append_time, p.drained_at)) filter (where p."partition" is not null) as read_through,
    bool_and(coalesce(p.read_append_time, p.drained_at) is not null) as known,
    coalesce(sum(greatest(p.end_offset - p.next_offset, 0)), 0)::bigint as lag_events,
    min(greatest(p.read_append_time, p.drained_at)) filter (where p.end_offset > p.next_offset) as oldest_unread_after,
    (v.settings ->> 'allowed_lateness_ms')::bigint as allowed_lateness_ms
from registry.job_version v left join registry.progress p using (job, version)
group by v.job, v.version;

create view registry.completeness as
select job, version, lag_events,
    case when known then read_through - allowed_lateness_ms * interval '1 millisecond' - interval '1 minute' end
        as complete_through,
    case when lag_events = 0 then 0 else
        greatest(0, extract(epoch from clock_timestamp() - oldest_unread_after)) end::double precision as lag_seconds
from registry.reach;
comment on view registry.completeness is 'Contract, section 3, Finality: what no record can change any more.';

grant usage on schema registry, data to kappa_writer, kappa_registry;
grant select on registry.job_version, registry.output to kappa_writer;
grant update (state, updated_at) on registry.job_version to kappa_writer;
grant select, insert, update on registry.heartbeat, registry.batch, registry.progress to kappa_writer;
grant select, insert, update, delete on registry.red_line to kappa_writer;
grant select, update (epoch) on registry.fence to kappa_writer;
grant select, insert on registry.driver_start to kappa_writer;
grant select, update (claimed_by, claimed_at, ended_at) on registry.launch to kappa_writer;
grant execute on function registry.end_older_drivers to kappa_writer;

grant select on all tables in schema registry to kappa_registry;
grant insert, update on registry.job_version, registry.fence, registry.launch, registry.progress to kappa_registry;
grant insert, update, delete on registry.segment to kappa_registry;
grant delete on registry.red_line to kappa_registry;
grant insert on registry.release, registry.audit to kappa_registry;
grant execute on function registry.add_rows_partition to kappa_registry;
