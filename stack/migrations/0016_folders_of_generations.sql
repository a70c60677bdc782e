-- A generation's folder bears the name of the try that made it, and is real by its row (docs/decisions/0057): what no row
-- names was left by a try that failed. Of generations from before, and of those that older code makes, it is 'g' and the
-- number.
alter table registry.generation add column folder text;
comment on column registry.generation.folder is
    'The folder below that of the version; null: g and the number, as of the first generation, which has no row.';
create or replace view ops.generations as select * from registry.generation;
