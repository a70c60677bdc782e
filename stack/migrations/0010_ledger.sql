-- What a batch may read fits what its transaction is given, and what the quarantine can hold in memory (docs/decisions/0025).
update registry.job_version v set settings = jsonb_set(v.settings, '{records_per_batch}', to_jsonb(m.most))
from (values ('ad_ctr', 500000), ('client_spend', 500000), ('quarantine', 50000)) as m (job, most)
where v.job = m.job and (v.settings ->> 'records_per_batch')::bigint > m.most;

-- A heartbeat told the driver's own time of a batch. One in the future hid every stall until then.
update registry.heartbeat h
set committed_at = least(h.committed_at, coalesce((select max(b.committed_at) from registry.batch b
    where (b.job, b.version) = (h.job, h.version)), clock_timestamp()))
where h.committed_at is not null;
