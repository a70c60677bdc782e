-- What the cluster calls the application of a driver, so that its successor can have it ended (docs/decisions/0065).
alter table registry.driver_start add column application_id text;
comment on column registry.driver_start.application_id is
    'Null: the driver does the work in its own process, has not come so far, or is of older code.';
grant update (application_id) on registry.driver_start to kappa_writer;
