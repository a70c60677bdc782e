-- What a batch of the quarantine may read fits into its driver's heap (docs/decisions/0039).
update registry.job_version set settings = jsonb_set(settings, '{records_per_batch}', '20000')
where job = 'quarantine' and (settings ->> 'records_per_batch')::bigint > 20000;
