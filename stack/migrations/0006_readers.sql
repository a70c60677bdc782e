-- A reader of one client's days reads that client's rows. With clock_timestamp(), which is volatile, Postgres computed the
-- minutes of all clients, for all time, before it looked at the condition (a CTE that is volatile is not inlined).
create or replace view registry.completeness as
select job, version, lag_events,
    case when known then read_through - allowed_lateness_ms * interval '1 millisecond' - interval '1 minute' end
        as complete_through,
    case when lag_events = 0 then 0 else
        greatest(0, extract(epoch from statement_timestamp() - oldest_unread_after)) end::double precision as lag_seconds
from registry.reach;
