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
