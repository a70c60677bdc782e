-- Rows of every table of the schema as it was before revision 0007 (commit a221cc5), as a stack at work leaves them.
insert into registry.job_version (job, version, state, artifact, state_digest, result_digest, settings, topic, topic_id,
    starts_at, updated_at, start_offsets)
select job, version, state, 'artifact', 'state', 'result', '{"allowed_lateness_ms": 7200000, "future_bound_ms": 300000,
    "click_interval_ms": 10000, "state_partitions": 4, "executor_cores": 1}', 'ad_events', 'topic-1', starts_at,
    '2026-03-11', '{"0": 0}'
from (values ('ad_ctr', 1, 'PREVIOUS', null::timestamptz), ('ad_ctr', 2, 'LIVE', '2026-03-10 12:00+00'),
    ('client_spend', 1, 'LIVE', null), ('quarantine', 1, 'FAILED', null)) as v (job, version, state, starts_at);
select registry.add_rows_partition(job, version) from registry.job_version;

insert into registry.fence select job, version, 3 from registry.job_version;
insert into registry.launch values ('00000000-0000-4000-8000-0000000000a1', 'ad_ctr', 2, '2026-03-10', 'driver-1',
    'driver-1', '2026-03-10');
insert into registry.driver_start select job, version, 3, '2026-03-10', 'driver-1', 4711 from registry.job_version;
insert into registry.heartbeat select job, version, 3, '2026-03-12', 1, 2, 'driver-1', 1, 2, 900, '2026-03-12',
    '2026-03-10 23:00+00', '2026-03-10', 7560000, 5, 6 from registry.job_version;
insert into registry.batch (job, version, generation, batch_id, epoch, topic_id, start_offsets, end_offsets, watermark,
    read, counted, duplicate, repeated_click, late, future, before_start, dead_letter, counted_micros, duplicate_micros,
    repeated_click_micros, late_micros, future_micros, before_start_micros, rows_changed, committed_at)
select job, version, 1, batch_id, 1, 'topic-1', jsonb_build_object('0', 10 * batch_id),
    jsonb_build_object('0', 10 * batch_id + 10), '2026-03-09', 10, 4, 1, 1, 1, 1, 1, 1, 1000000000000000000000, 5, 6, 7,
    8, 9, 3, '2026-03-12'::timestamptz - (2 - batch_id) * interval '1 second'
from registry.job_version, generate_series(0, 2) as batch_id;
insert into registry.progress select job, version, 0, 30, '2026-03-12 08:00+00', 31, '2026-03-12 09:00+00'
from registry.job_version;
insert into registry.segment values ('ad_ctr', '-infinity', '2026-03-10 12:00+00', 1),
    ('ad_ctr', '2026-03-10 12:00+00', 'infinity', 2), ('client_spend', '-infinity', 'infinity', 1),
    ('quarantine', '-infinity', 'infinity', 1);

insert into registry.release (jobs, segments_before, segments_after, offsets_before, offsets_after, promoted_by,
    approved_by, evidence)
values (array['ad_ctr'], '[]', '[]', '{}', '{"ad_ctr": {"0": 30}}', 'ann', 'bob', '{"run_id": "run-1"}');
insert into registry.audit (actor, action, job, version, run_id, reason, evidence)
values ('ann', 'deploy.staged', 'ad_ctr', 1, 'run-1', 'first', '{"artifact": "artifact"}');
insert into registry.red_line values ('quarantine', 1, 'failed', '2026-03-12', 'a gap in the checkpoint');
insert into registry.lease values ('ad_ctr', 2, 'run-2', 'rescale', 'ann', 'more cores', '2026-03-12', '2026-03-13');
insert into registry.change values ('00000000-0000-4000-8000-0000000000c1', 'ad_ctr', 2, 'rescale', 'run-2', 'running',
    '{}', '{}', 'held');
insert into registry.generation values ('ad_ctr', 2, 2, 1, '00000000-0000-4000-8000-0000000000c1', 4, 2, '{}',
    '2026-03-12');
insert into registry.replay (replay_id, run_id, versions, live, parity, bands, approval, promote, asked_by, price)
values ('00000000-0000-4000-8000-0000000000d1', 'run-3', '{"ad_ctr": 2}', '{"ad_ctr": 1}', 'exact', '[]', 'ask', true,
    'ann', '{}');
insert into registry.pin values ('ad_ctr', 1, 'ann', 'run-4', 'for the auditors', '2026-03-12');

insert into reference.client values ('acme', '2020-01-01', 'Europe/Berlin', 'EUR', 12500000),
    ('acme', '2026-03-11', 'Asia/Tokyo', 'JPY', null);
insert into data.ad_ctr_minute
select version, client, 'a1', at, 7, 2, 1000000000000, 5, 9, 3, 1000000000007, 8
from (values (1, '2026-03-10 11:59+00'::timestamptz), (2, '2026-03-10 12:00+00'), (2, '2026-03-12 07:00+00'))
    as r (version, at), (values ('acme'), ('other')) as c (client);
insert into data.client_spend_minute
select 1, client, at, 7, 2, 1000000000000, 5, 9, 3, 1000000000007, 8
from (values ('2026-03-10 11:59+00'::timestamptz), ('2026-03-10 22:59+00'), ('2026-03-10 14:59+00'),
    ('2026-03-12 07:00+00')) as r (at), (values ('acme'), ('other')) as c (client);
insert into data.quarantine values (1, 'ad_events', 0, 7, '2026-03-10', 'late', 'too late', 'k', 'v', 1, '2026-03-10');
