-- The finite Spark programs of changes, which may run on any host: the newest try of each, and how it ended.
create table registry.finite_program (
    change_id uuid not null references registry.change,
    program text not null check (program in ('trial', 'repartition')),
    attempt_id uuid not null unique,
    submission_id text,
    begun_at timestamptz not null default clock_timestamp(),
    outcome jsonb,
    ended_at timestamptz,
    primary key (change_id, program),
    constraint ended check ((outcome is null) = (ended_at is null))
);
comment on table registry.finite_program is
    'The newest try of a finite Spark program of a change. `submission_id` is what the cluster calls it, null where a task '
    'of Airflow runs it itself; `outcome` is what it left. One that was followed by another try can leave nothing any more.';
create view ops.finite_programs as select * from registry.finite_program;
grant select, insert, update on registry.finite_program to kappa_registry;
grant select, update (outcome, ended_at) on registry.finite_program to kappa_writer;
grant select on ops.finite_programs to kappa_operator, kappa_registry;
