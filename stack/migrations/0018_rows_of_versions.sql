-- The rows of all versions for who operates them, as the tables hold them (docs/decisions/0070): two versions are compared
-- by them, and sums over a long span are added up without what the views of `serving` compute for each row.
create view ops.ad_ctr_minute as
select version, client_id, ad_id, window_start, impressions, clicks, impression_micros, click_micros,
    seen_impressions, seen_clicks, seen_impression_micros, seen_click_micros
from data.ad_ctr_minute;
create view ops.client_spend_minute as
select version, client_id, window_start, impressions, clicks, impression_micros, click_micros,
    seen_impressions, seen_clicks, seen_impression_micros, seen_click_micros
from data.client_spend_minute;
grant select on ops.ad_ctr_minute, ops.client_spend_minute to kappa_operator, kappa_registry;

-- What the newest batch's time is made of; null of drivers whose code is older.
alter table registry.heartbeat add column action_ms integer;
comment on column registry.heartbeat.action_ms is
    'Of batch_ms what Spark''s action took; the rest is the answer of the log and the transaction.';
create or replace view ops.drivers as
select h.job, h.version, h.epoch, h.beat_at, h.driver_pid, h.jvm_pid, h.submission_id, h.generation, h.batch_id, h.batch_ms,
    h.committed_at, h.newest_event_time, h.watermark, h.watermark_delay_ms, h.state_rows, h.state_bytes,
    c.lag_events, c.lag_seconds, c.complete_through, h.action_ms
from registry.heartbeat h join registry.completeness c using (job, version);
