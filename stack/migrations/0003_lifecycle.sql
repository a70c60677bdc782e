-- Leases, changes in place and generations of checkpoints: what the lifecycle verbs rest on (architecture, section 5).
create table registry.lease (
    job text not null,
    version integer not null,
    run_id text not null,
    verb text not null,
    actor text not null,
    reason text,
    taken_at timestamptz not null default clock_timestamp(),
    ends_at timestamptz not null,
    primary key (job, version)
);
comment on table registry.lease is
    'Which run may act on a version. Version 0 is the live end of the job, taken for a hand-over only.';

create table registry.change (
    change_id uuid primary key,
    job text not null,
    version integer not null,
    verb text not null check (verb in ('deploy', 'rescale')),
    run_id text not null,
    desired text not null check (desired in ('running', 'stopped')),
    old jsonb not null,
    new jsonb not null,
    phase text not null default 'begun' check (phase in ('begun', 'held', 'switched', 'done', 'undone')),
    marks jsonb not null default '{}',
    begun_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    foreign key (job, version) references registry.job_version,
    constraint ended check ((phase in ('done', 'undone')) = (ended_at is not null))
);
create unique index change_open on registry.change (job, version) where ended_at is null;
comment on table registry.change is
    'A version that is to run as something else: artifact, settings and checkpoint generation, old and new. `desired` is what '
    'the operator wants of it, whatever the change holds it to meanwhile; `marks` are the times (ISO, UTC) of its phases.';

create table registry.generation (
    job text not null,
    version integer not null,
    generation integer not null,
    made_from integer not null,
    change_id uuid not null references registry.change,
    state_partitions integer not null,
    base_batch_id bigint not null,
    proof jsonb not null,
    made_at timestamptz not null default clock_timestamp(),
    primary key (job, version, generation),
    foreign key (job, version) references registry.job_version
);
comment on table registry.generation is
    'A repartitioned copy of a checkpoint. `base_batch_id` is the newest batch it was committed to when it was made; `proof` '
    'holds rows and an order-free hash per stateful operator, before and after.';

create index audit_repairs on registry.audit (job, version, at) where action = 'repair.restarted';

create view ops.leases as select * from registry.lease;
create view ops.changes as select * from registry.change;
create view ops.generations as select * from registry.generation;

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
    and coalesce(h.beat_at, c.begun_at) < clock_timestamp() - interval '2 minutes';

grant select on registry.change, registry.generation to kappa_writer;
grant update (marks) on registry.change to kappa_writer;
grant insert, update, delete on registry.generation to kappa_writer;
grant select, insert, update, delete on registry.lease to kappa_registry;
grant select, insert, update on registry.change to kappa_registry;
grant select on registry.generation to kappa_registry;
grant insert, update (detail) on registry.red_line to kappa_registry;
grant select on ops.leases, ops.changes, ops.generations, ops.red_lines to kappa_operator, kappa_registry;
