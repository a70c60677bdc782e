-- Replays, releases and pins: what promotion, rollback and retirement rest on (architecture, section 4).
create table registry.replay (
    replay_id uuid primary key,
    run_id text not null unique,
    versions jsonb not null,
    live jsonb not null,
    starts_ms bigint,
    parity text not null check (parity in ('exact', 'declared', 'report')),
    bands jsonb not null,
    approval text not null check (approval in ('auto', 'ask')),
    promote boolean not null,
    asked_by text not null,
    reason text,
    price jsonb not null,
    validation jsonb,
    answer text check (answer in ('approved', 'rejected', 'timed out')),
    answered_by text,
    outcome text,
    begun_at timestamptz not null default clock_timestamp(),
    answered_at timestamptz,
    ended_at timestamptz,
    constraint ended check ((outcome is null) = (ended_at is null)),
    constraint answered check ((answer is null) = (answered_at is null))
);
create index replay_versions on registry.replay using gin (versions jsonb_path_ops);
comment on table registry.replay is
    'One attempt to serve windows from new versions: `versions` are the candidates, `live` what served when it was planned, '
    'both job -> version; `starts_ms` is T (epoch ms), null where the candidates start with the log.';

create table registry.pin (
    job text not null,
    version integer not null,
    pinned_by text not null,
    run_id text not null,
    reason text,
    pinned_at timestamptz not null default clock_timestamp(),
    primary key (job, version),
    foreign key (job, version) references registry.job_version
);
comment on table registry.pin is 'Versions that are never retired, until they are unpinned.';

create index release_run on registry.release ((evidence ->> 'run_id'));

create view ops.replays as select * from registry.replay;
create view ops.pins as select * from registry.pin;

grant select, insert on registry.replay to kappa_registry;
grant update (validation, answer, answered_by, answered_at, outcome, ended_at) on registry.replay to kappa_registry;
grant select, insert, delete on registry.pin to kappa_registry;
grant select on ops.replays, ops.pins to kappa_operator, kappa_registry;
-- The validation reads the rows of candidates and of what is live; a job that is added later is read like these.
grant select on all tables in schema data to kappa_registry;
alter default privileges in schema data grant select on tables to kappa_registry;
