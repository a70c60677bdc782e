-- A day begins with its first midnight. Where a clock is set back over midnight (the Azores, Havana, each autumn) there
-- are two, and Postgres reads a date as the later one: an hour of the day before belonged to no day's end.

create or replace view reference.client_span as
with begun as (
    select client_id, valid_from, time_zone, midnight.first as starts_at
    from reference.client
    cross join lateral (select valid_from::timestamp at time zone time_zone as last) read
    cross join lateral (select case when ((read.last - interval '1 hour') at time zone time_zone)::date = valid_from
        then read.last - interval '1 hour' else read.last end as first) midnight
    union all
    select distinct on (client_id) client_id, '-infinity'::date, 'UTC', '-infinity'::timestamptz from reference.client
), span as (
    select client_id, time_zone, starts_at,
        coalesce(min(starts_at) over (partition by client_id order by valid_from
            rows between 1 following and unbounded following), 'infinity') as ends_at
    from begun
)
select client_id, time_zone, starts_at, ends_at from span where starts_at < ends_at;

create or replace view serving.client_spend_day as
with extent as materialized (
    select s.from_window, s.to_window, c.complete_through
    from registry.segment s join registry.completeness c using (job, version)
    where s.job = 'client_spend'
), day as (
    select r.client_id, (r.window_start at time zone coalesce(z.time_zone, 'UTC'))::date as budget_day,
        sum(r.impressions)::bigint as impressions, sum(r.clicks)::bigint as clicks,
        sum(r.impression_micros::numeric + r.click_micros)::numeric(38, 0) as spend_micros
    from data.client_spend_minute r
    join registry.segment s on s.job = 'client_spend' and s.version = r.version
        and r.window_start >= s.from_window and r.window_start < s.to_window
    left join reference.client_span z
        on z.client_id = r.client_id and r.window_start >= z.starts_at and r.window_start < z.ends_at
    group by 1, 2
), judged as (
    select d.client_id, d.budget_day, d.impressions, d.clicks, d.spend_micros,
        bool_and(coalesce(e.complete_through >= least(part.ends_at, e.to_window), false))
            filter (where part.starts_at < part.ends_at) as complete
    from day d
    left join reference.client_span z on z.client_id = d.client_id
    cross join lateral (select coalesce(z.time_zone, 'UTC') as time_zone, d.budget_day as begins,
        d.budget_day + 1 as ends) own
    cross join lateral (select own.begins::timestamp at time zone own.time_zone as begin_read,
        own.ends::timestamp at time zone own.time_zone as end_read) read
    cross join lateral (select
        greatest(z.starts_at, read.begin_read - case when ((read.begin_read - interval '1 hour') at time zone
            own.time_zone)::date = own.begins then interval '1 hour' else interval '0' end) as starts_at,
        least(z.ends_at, read.end_read - case when ((read.end_read - interval '1 hour') at time zone
            own.time_zone)::date = own.ends then interval '1 hour' else interval '0' end) as ends_at) part
    left join extent e on e.from_window < part.ends_at and e.to_window > part.starts_at
    group by 1, 2, 3, 4, 5
)
select d.client_id, d.budget_day, coalesce(t.time_zone, 'UTC') as time_zone, t.currency,
    d.impressions, d.clicks, d.spend_micros, t.daily_budget_micros as budget_micros,
    case when d.complete then 'provisional' else 'open' end as finality
from judged d
left join lateral (select * from reference.client c where c.client_id = d.client_id and c.valid_from <= d.budget_day
    order by c.valid_from desc limit 1) t on true;
