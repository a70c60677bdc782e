-- The rows of all versions, the readers' views over the live segments, and the operators' views (contract, section 3).
create table reference.client (
    client_id text not null,
    valid_from date not null,
    time_zone text not null,
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    daily_budget_micros numeric(38, 0) check (daily_budget_micros >= 0),
    primary key (client_id, valid_from)
);

create view reference.client_span as
select client_id, time_zone,
    valid_from::timestamp at time zone time_zone as starts_at,
    coalesce(lead(valid_from::timestamp at time zone time_zone) over (partition by client_id order by valid_from),
        'infinity') as ends_at
from reference.client;
comment on view reference.client_span is 'From when to when a client''s row holds, as instants: local midnight of valid_from.';

create table data.ad_ctr_minute (
    version integer not null,
    client_id text not null,
    ad_id text not null,
    window_start timestamptz not null,
    impressions bigint not null,
    clicks bigint not null,
    impression_micros bigint not null,
    click_micros bigint not null,
    seen_impressions bigint not null,
    seen_clicks bigint not null,
    seen_impression_micros bigint not null,
    seen_click_micros bigint not null,
    primary key (version, client_id, ad_id, window_start)
) partition by list (version);

create table data.client_spend_minute (
    version integer not null,
    client_id text not null,
    window_start timestamptz not null,
    impressions bigint not null,
    clicks bigint not null,
    impression_micros bigint not null,
    click_micros bigint not null,
    seen_impressions bigint not null,
    seen_clicks bigint not null,
    seen_impression_micros bigint not null,
    seen_click_micros bigint not null,
    primary key (version, client_id, window_start)
) partition by list (version);

create table data.quarantine (
    version integer not null,
    topic text not null,
    "partition" integer not null,
    "offset" bigint not null,
    append_time timestamptz not null,
    fate text not null,
    reason text not null,
    key bytea,
    value bytea,
    value_bytes bigint,
    recorded_at timestamptz not null default clock_timestamp(),
    primary key (version, "partition", "offset")
) partition by list (version);

insert into registry.output values
    ('ad_ctr', 'ad_ctr_minute'), ('client_spend', 'client_spend_minute'), ('quarantine', 'quarantine');

create view serving.ad_ctr_minute as
select r.client_id, r.ad_id, r.window_start, r.impressions, r.clicks,
    (r.impression_micros + r.click_micros)::numeric(38, 0) as spend_micros,
    r.clicks::numeric / nullif(r.impressions, 0) as ctr,
    r.seen_impressions - r.impressions as duplicates,
    r.seen_clicks - r.clicks as repeated_clicks,
    coalesce(r.window_start + interval '1 minute' <= c.complete_through, false) as is_final
from data.ad_ctr_minute r
join registry.segment s
    on s.job = 'ad_ctr' and s.version = r.version and r.window_start >= s.from_window and r.window_start < s.to_window
join registry.completeness c on c.job = s.job and c.version = s.version;

create view serving.client_spend_day as
with minute as (
    select r.client_id, r.impressions, r.clicks, r.impression_micros::numeric + r.click_micros as spend_micros,
        c.complete_through, (r.window_start at time zone coalesce(z.time_zone, 'UTC'))::date as budget_day
    from data.client_spend_minute r
    join registry.segment s on s.job = 'client_spend' and s.version = r.version
        and r.window_start >= s.from_window and r.window_start < s.to_window
    join registry.completeness c on c.job = s.job and c.version = s.version
    left join reference.client_span z
        on z.client_id = r.client_id and r.window_start >= z.starts_at and r.window_start < z.ends_at
), day as (
    select client_id, budget_day, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks,
        sum(spend_micros)::numeric(38, 0) as spend_micros, bool_or(complete_through is null) as unknown,
        min(complete_through) as complete_through
    from minute group by client_id, budget_day
)
select d.client_id, d.budget_day, coalesce(t.time_zone, 'UTC') as time_zone, t.currency,
    d.impressions, d.clicks, d.spend_micros, t.daily_budget_micros as budget_micros,
    case when not d.unknown
        and (d.budget_day + 1)::timestamp at time zone coalesce(n.time_zone, 'UTC') <= d.complete_through
        then 'provisional' else 'open' end as finality
from day d
left join lateral (select * from reference.client c where c.client_id = d.client_id and c.valid_from <= d.budget_day
    order by c.valid_from desc limit 1) t on true
left join lateral (select * from reference.client c where c.client_id = d.client_id and c.valid_from <= d.budget_day + 1
    order by c.valid_from desc limit 1) n on true;

create view serving.freshness as
select s.job, s.version, h.committed_at as processed_at, h.newest_event_time, c.complete_through, c.lag_events, c.lag_seconds
from registry.segment s
join registry.completeness c using (job, version)
left join registry.heartbeat h using (job, version)
where s.to_window = 'infinity';

create view ops.accounting as
select v.job, v.version, v.state,
    coalesce(sum(b.read), 0)::bigint as read,
    coalesce(sum(b.counted), 0)::bigint as counted,
    coalesce(sum(b.duplicate), 0)::bigint as duplicate,
    coalesce(sum(b.repeated_click), 0)::bigint as repeated_click,
    coalesce(sum(b.late), 0)::bigint as late,
    coalesce(sum(b.future), 0)::bigint as future,
    coalesce(sum(b.before_start), 0)::bigint as before_start,
    coalesce(sum(b.dead_letter), 0)::bigint as dead_letter,
    coalesce(sum(b.counted_micros), 0)::numeric(38, 0) as counted_micros,
    coalesce(sum(b.duplicate_micros), 0)::numeric(38, 0) as duplicate_micros,
    coalesce(sum(b.repeated_click_micros), 0)::numeric(38, 0) as repeated_click_micros,
    coalesce(sum(b.late_micros), 0)::numeric(38, 0) as late_micros,
    coalesce(sum(b.future_micros), 0)::numeric(38, 0) as future_micros,
    coalesce(sum(b.before_start_micros), 0)::numeric(38, 0) as before_start_micros
from registry.job_version v left join registry.batch b using (job, version)
group by v.job, v.version, v.state;

create view ops.quarantine as
select q.topic, q."partition", q."offset", q.append_time, q.fate, q.reason, q.key, q.value, q.value_bytes, q.recorded_at
from data.quarantine q
join registry.segment s on s.job = 'quarantine' and s.version = q.version and s.to_window = 'infinity';

create view ops.versions as
select job, version, state, desired, state_digest, result_digest, artifact,
    (settings ->> 'state_partitions')::integer as state_partitions,
    (settings ->> 'executor_cores')::integer as executor_cores,
    starts_at, start_offsets, settings, topic, generation, created_at, updated_at
from registry.job_version;

create view ops.segments as select job, from_window, to_window, version from registry.segment;
create view ops.progress as select job, version, "partition", next_offset, end_offset, read_append_time, drained_at
from registry.progress;
create view ops.releases as
select release_id, jobs, segments_before, segments_after, offsets_before, offsets_after, promoted_at, promoted_by,
    approved_by, evidence from registry.release;
create view ops.audit as select at, actor, action, job, version, reason, evidence, run_id from registry.audit;
create view ops.drivers as
select h.*, c.lag_events, c.lag_seconds, c.complete_through
from registry.heartbeat h join registry.completeness c using (job, version);
create view ops.reach as select job, version, lag_events, lag_seconds, complete_through from registry.completeness;
create view ops.batches as select * from registry.batch;

create view ops.red_lines as
with current as (
    select job, max(version) as version from registry.job_version group by job
    union select job, version from registry.segment
)
select job, version, what, since, detail from registry.red_line join current using (job, version)
union all
select v.job, v.version, 'failed', v.updated_at, 'the driver was restarted too often and gave up'
from registry.job_version v join current using (job, version)
where v.state = 'FAILED' and not exists (select from registry.red_line r where (r.job, r.version, r.what) = (v.job, v.version, 'failed'))
union all
select v.job, v.version, 'silent', coalesce(h.beat_at, v.updated_at), 'wanted running, but no heartbeat for 30 s'
from registry.job_version v left join registry.heartbeat h using (job, version)
where v.desired = 'running' and v.state not in ('FAILED', 'RETIRED')
    and coalesce(greatest(h.beat_at, v.updated_at), v.updated_at) < clock_timestamp() - interval '30 seconds';

grant usage on schema serving to kappa_reader, kappa_operator, kappa_registry;
grant select on all tables in schema serving to kappa_reader, kappa_operator, kappa_registry;
grant usage on schema ops, reference to kappa_operator, kappa_registry;
grant select on all tables in schema ops, reference to kappa_operator, kappa_registry;
grant insert, update on reference.client to kappa_registry;
grant select, insert, update on data.ad_ctr_minute, data.client_spend_minute to kappa_writer;
grant select, insert on data.quarantine to kappa_writer;
