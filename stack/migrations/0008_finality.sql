-- A day is final when every version that serves a part of it is, and a client's minutes lie in one day each (contract,
-- sections 3 and 5; docs/decisions/0028).

-- A newer row may begin before an older one does: a day begins 25 hours sooner on Kiritimati than in Pago Pago. The
-- older row then never holds. Before its first row a client has UTC.
create or replace view reference.client_span as
with begun as (
    select client_id, valid_from, time_zone, valid_from::timestamp at time zone time_zone as starts_at
    from reference.client
    union all
    select distinct on (client_id) client_id, '-infinity'::date, 'UTC', '-infinity'::timestamptz from reference.client
), span as (
    select client_id, time_zone, starts_at,
        coalesce(min(starts_at) over (partition by client_id order by valid_from
            rows between 1 following and unbounded following), 'infinity') as ends_at
    from begun
)
select client_id, time_zone, starts_at, ends_at from span where starts_at < ends_at;
comment on view reference.client_span is
    'From when to when a client''s row holds, as instants: from local midnight of valid_from until a newer row begins.';

-- The segments are few and read once; the minutes are read for the clients asked for (0006_readers.sql).
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
    cross join lateral (select
        greatest(z.starts_at, d.budget_day::timestamp at time zone coalesce(z.time_zone, 'UTC')) as starts_at,
        least(z.ends_at, (d.budget_day + 1)::timestamp at time zone coalesce(z.time_zone, 'UTC')) as ends_at) part
    left join extent e on e.from_window < part.ends_at and e.to_window > part.starts_at
    group by 1, 2, 3, 4, 5
)
select d.client_id, d.budget_day, coalesce(t.time_zone, 'UTC') as time_zone, t.currency,
    d.impressions, d.clicks, d.spend_micros, t.daily_budget_micros as budget_micros,
    case when d.complete then 'provisional' else 'open' end as finality
from judged d
left join lateral (select * from reference.client c where c.client_id = d.client_id and c.valid_from <= d.budget_day
    order by c.valid_from desc limit 1) t on true;
