-- The driver that stands by for the one that holds a launch, and since when it is warm.
alter table registry.launch add column standby text, add column standby_warm_at timestamptz;
grant update (standby, standby_warm_at) on registry.launch to kappa_writer;
