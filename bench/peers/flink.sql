create temporary table log (
    k bytes,
    v bytes,
    appended timestamp_ltz(3) not null metadata from 'timestamp' virtual
) with (
    'connector' = 'kafka',
    'topic' = '${topic}',
    'key.format' = 'raw',
    'key.fields' = 'k',
    'value.format' = 'raw',
    'value.fields-include' = 'EXCEPT_KEY',
    'scan.startup.mode' = 'specific-offsets',
    'scan.startup.specific-offsets' = '${starts}',
    ${kafka}
)
---
create temporary table shown (
    client_id string,
    ad_id string,
    minute_ms bigint,
    impressions bigint,
    clicks bigint,
    spend_micros bigint,
    primary key (client_id, ad_id, minute_ms) not enforced
) with (
    'connector' = 'jdbc',
    'url' = '${url}',
    'table-name' = '${table}',
    'sink.buffer-flush.interval' = '${flush_ms} ms',
    'sink.buffer-flush.max-rows' = '5000'
)
---
create temporary view events as
select e.client_id, e.ad_id, e.minute_ms, e.id, e.is_click, e.micros, proctime() as read_at
from (select accepted(k, v, appended) as e from log)
where e is not null
---
create temporary view firsts as
select client_id, ad_id, minute_ms, is_click, micros
from (
    select *, row_number() over (partition by client_id, ad_id, minute_ms, id order by read_at) as copy from events
)
where copy = 1
---
insert into shown
select
    client_id,
    ad_id,
    minute_ms,
    sum(case when is_click then 0 else 1 end),
    sum(case when is_click then 1 else 0 end),
    sum(micros)
from firsts
group by client_id, ad_id, minute_ms
